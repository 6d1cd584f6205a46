"""What completions add up to: for the counters of `/metrics` and for the page's past alike."""
