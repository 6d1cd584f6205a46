"""What the proxy costs in CPU time, next to nginx in front of the same upstream."""
