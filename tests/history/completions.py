"""Completions made up for tests of what is remembered."""

from typing import Any

import msgspec

from specmeter.meter.completion import Completion
from specmeter.reading import RawNumbers, check
from specmeter.speedup.baseline import Source
from specmeter.speedup.estimate import Estimate
from specmeter.speedup.strata import Stratum


def made_up(
    at: float = 0.0,
    *,
    upstream: str = "u",
    model: str = "m",
    plain: float | None = 3.0,
    source: Source = Source.HOLDOUT,
    in_flight: int | None = 1,
    **raw: Any,
) -> Completion:
    """100 prompt tokens, 101 generated, 50 drafted, 25 accepted, 2 s, 3 s without speculation."""
    numbers = {
        "generated": 101,
        "prompt": 100,
        "drafted": 50,
        "accepted": 25,
        "decode_milliseconds": 2000.0,
    }
    completion = Completion(
        upstream=upstream,
        endpoint="/v1/chat/completions",
        model_name=model,
        reading=check(RawNumbers(**(numbers | raw))),
        streamed=True,
        time_to_first_token=0.3,
        duration=2.5,
        finished_at=at,
        in_flight=in_flight,
    )
    seconds = completion.reading.decode_seconds
    if plain is None or not seconds:
        return completion
    estimate = Estimate(
        spent=seconds,
        plain=plain,
        relative_error=0.02,
        source=source,
        stratum=Stratum(),
        stale=False,
    )
    return msgspec.structs.replace(completion, estimate=estimate)
