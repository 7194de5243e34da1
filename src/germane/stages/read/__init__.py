"""Read: the stage that finds in a request's words what the request asks for, without I/O (SIG-0)."""

from __future__ import annotations

from germane.stages.read.query import read

__all__ = ["read"]
