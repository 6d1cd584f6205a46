"""Endless damage: run one of these for as long as you like."""
