"""`specmeter top`: what the live page shows at its top, in a terminal."""
