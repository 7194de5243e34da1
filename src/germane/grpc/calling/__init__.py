"""Calling: the parts of the client: the connection, the requests, the check of replies, and the fallback.

Importing it raises `MissingExtra` where gRPC isn't installed.
"""

from __future__ import annotations

from importlib import import_module

from germane.errors import MissingExtra

for _module, _package in (("google.protobuf.message", "protobuf"), ("grpc.aio", "grpcio")):
    try:
        import_module(_module)
    except ImportError as _error:
        raise MissingExtra("client", _package) from _error
