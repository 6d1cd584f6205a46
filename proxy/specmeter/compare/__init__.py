"""`specmeter compare`: is speculation faster than none? The three-step check as one command."""
