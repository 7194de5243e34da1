"""Adapters: one a peer, run inside that peer's own environment. They import the peer, numpy and the embedder; only one
of them germane."""
