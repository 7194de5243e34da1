"""Ports: what several floors need from outside, as protocols. Adapters fulfil them: `embedders/`, `tokenizers/`, `stores/`."""
