"""How fast plain decoding can be at most: each token reads all weights from memory once."""

from __future__ import annotations


def plain_bound(memory_bandwidth_gb_s: float, weights_gb: float) -> float:
    """Return the tokens per second of one sequence that plain decoding cannot exceed.

    Args:
        memory_bandwidth_gb_s: Of the memory that holds the weights, in GB/s (> 0).
        weights_gb: What is read per token, in GB (> 0): of a mixture of experts only the active
            ones.
    """
    return memory_bandwidth_gb_s / weights_gb


def share_of_bound(seconds_per_token: float, bound: float) -> float:
    """Return which share of the bound is reached.

    Above 1, speculation broke the premise of one read per token.

    Args:
        seconds_per_token: Measured (> 0).
        bound: Tokens per second (> 0).
    """
    return 1 / seconds_per_token / bound
