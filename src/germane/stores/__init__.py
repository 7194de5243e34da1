"""Stores: implementations of the `Store` protocol, one package each; only `api/wiring.py` imports them."""
