"""What the live page shows of the past: sums over time at falling resolution, in bounded memory."""
