"""Peers: comparison with other libraries, each in its own environment, with the same corpus, embedder, packer and budget."""
