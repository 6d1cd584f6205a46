"""Is it faster than without speculation? Baselines, strata, intervals; pure arithmetic."""
