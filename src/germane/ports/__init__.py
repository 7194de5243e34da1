"""Ports: protocols of what several packages need from outside; `embedders/`, `tokenizers/`, `stores/` implement them."""
