"""From readings to Prometheus."""
