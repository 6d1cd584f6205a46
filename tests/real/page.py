"""Prometheus pages, and the counts on which the server's and the proxy's must agree."""

from dataclasses import astuple, dataclass

from prometheus_client.parser import text_string_to_metric_families


class Page:
    """The samples of one page."""

    def __init__(self, text: str) -> None:
        self._samples = [
            sample for family in text_string_to_metric_families(text) for sample in family.samples
        ]

    def values(self, name: str, **labels: str) -> list[float]:
        """Give the values of a name's samples, those with these labels."""
        return [
            sample.value
            for sample in self._samples
            if sample.name == name and labels.items() <= sample.labels.items()
        ]

    def total(self, name: str, **labels: str) -> float:
        """Sum values, of which there must be one at least: absent is not 0."""
        values = self.values(name, **labels)
        assert values, f"no sample {name} with {labels}"
        return sum(values)

    def label_values(self, label: str) -> set[str]:
        """Give every value that a label has anywhere on the page."""
        return {sample.labels[label] for sample in self._samples if label in sample.labels}


@dataclass(frozen=True)
class Counts:
    """Tokens."""

    generated: float
    drafted: float
    accepted: float
    prompt: float
    cached_prompt: float

    def since(self, before: "Counts") -> "Counts":
        """Give what has come on top."""
        return Counts(*(new - old for new, old in zip(astuple(self), astuple(before), strict=True)))


def server_counts(page: Page) -> Counts:
    """Give what llama.cpp says of itself."""
    cached = page.total("llamacpp:prompt_tokens_cached_total")
    return Counts(
        generated=page.total("llamacpp:tokens_predicted_total"),
        drafted=page.total("llamacpp:spec_decode_num_draft_tokens_total"),
        accepted=page.total("llamacpp:spec_decode_num_accepted_tokens_total"),
        prompt=page.total("llamacpp:prompt_tokens_total") + cached,
        cached_prompt=cached,
    )


def proxy_counts(page: Page) -> Counts:
    """Give what the proxy counted."""
    return Counts(
        generated=page.total("specmeter_generated_tokens_total"),
        drafted=page.total("specmeter_spec_decode_num_draft_tokens_total"),
        accepted=page.total("specmeter_spec_decode_num_accepted_tokens_total"),
        prompt=page.total("specmeter_prompt_tokens_total"),
        cached_prompt=page.total("specmeter_cached_prompt_tokens_total"),
    )
