"""Everything that is measured of the proxy, beside others in front of the same upstream."""
