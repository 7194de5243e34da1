"""Ports: protocols that adapters in `embedders/`, `tokenizers/` and `stores/` implement."""
