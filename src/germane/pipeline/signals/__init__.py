"""Signals: the first stage: reads from a request's words what it asks for, without I/O (SIG-0)."""

from __future__ import annotations

from germane.pipeline.signals.read import read

__all__ = ["read"]
