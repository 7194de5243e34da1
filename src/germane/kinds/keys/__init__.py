"""Keys: API keys: how they are made, verified, listed and revoked, and what a key allows."""
