"""`specmeter demo`: the proxy in front of two real llama.cpp servers, with traffic of its own."""
