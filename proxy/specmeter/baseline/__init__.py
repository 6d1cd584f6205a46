"""`specmeter baseline`: how fast a server is without speculation, over contexts and loads."""
