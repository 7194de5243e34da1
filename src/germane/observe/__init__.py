"""Observe: what can be seen of the service from outside: logs, metrics, traces, readiness. Never content, never keys."""
