"""Signals: the first stage. What a request asks for, read from its words alone, without any I/O (SIG-0)."""

from __future__ import annotations

from germane.pipeline.signals.read import read

__all__ = ["read"]
