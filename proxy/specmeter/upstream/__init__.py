"""The servers behind the proxy: what is known of them, and what they are asked beside traffic."""
