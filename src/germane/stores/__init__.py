"""Stores: where things are kept, a package each. Adapters: `wiring` alone imports them."""
