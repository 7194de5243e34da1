"""Ports: the protocols that the adapters in `models/` and `stores/` implement, and what every user of a port needs."""
