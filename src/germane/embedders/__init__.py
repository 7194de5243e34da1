"""Embedders: texts to vectors, in this process or at an endpoint. Adapters: `wiring` alone imports them."""
