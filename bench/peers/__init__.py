"""Side by side: what users would pick instead of germane, each in an environment of its own, over one corpus, with one
embedder, one packer and one budget."""
