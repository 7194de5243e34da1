"""Embedders: adapters that turn texts into vectors, in this process or at an endpoint."""
