"""Replays finished requests on a plain upstream: unseen, and only while there is room."""
