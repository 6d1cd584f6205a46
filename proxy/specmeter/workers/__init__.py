"""Several processes on one host: a main one that counts, and workers that forward."""
