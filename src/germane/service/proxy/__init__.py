"""Proxy: model calls on their way to a provider, and the providers that they may go to."""
