"""Completions as the proxy would hand them on."""

from specmeter.meter.completion import Completion
from specmeter.reading import Reading
from specmeter.speedup.baseline import Source
from specmeter.speedup.estimate import Estimate
from specmeter.speedup.strata import Stratum

DRAFTED = Reading(generated=129, drafted=192, accepted=64, decode_seconds=1.6)
UNDRAFTED = Reading(generated=101, drafted=0, accepted=0, decode_seconds=2.0)
SILENT = Reading(generated=50)
"""Of a server that reports neither drafting nor time."""

ESTIMATE = Estimate(1.6, 2.0, 0.05, Source.SHADOW, Stratum(), stale=False)


def completion(
    reading: Reading,
    upstream: str = "ngram-mod",
    *,
    streamed: bool = True,
    estimate: Estimate | None = None,
) -> Completion:
    return Completion(
        endpoint="/v1/chat/completions",
        upstream=upstream,
        model_name=f"model-of-{upstream}",
        reading=reading,
        streamed=streamed,
        time_to_first_token=0.05,
        duration=2.0,
        finished_at=1_790_000_000.0,
        estimate=estimate,
    )
