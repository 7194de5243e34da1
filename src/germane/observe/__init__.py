"""Observe: logs, metrics, traces and readiness of the service, without content and API keys."""
