"""What can go wrong.

BenchmarkError
├── DeliveryError    the bytes that arrived are not the bytes that were sent
├── OverloadError    the machine could not keep up, so there is nothing to measure
└── ProcessError     a process did not start, or ended early
"""


class BenchmarkError(Exception):
    """The run has no result."""


class DeliveryError(BenchmarkError):
    """The bytes that arrived are not the bytes that were sent."""


class OverloadError(BenchmarkError):
    """The machine could not keep up, so there is nothing to measure."""


class ProcessError(BenchmarkError):
    """A process did not start, or ended early."""
