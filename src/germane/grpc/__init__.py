"""gRPC: the service on a port, and its clients, whose `assemble` never raises.

Translates between the wire and the API. Importing it raises `MissingExtra` where gRPC or protobuf isn't installed. The
client and the server share `messages` and `answer`, and nothing else: `client` and `blocking` load neither the engine nor a
store.
"""

from __future__ import annotations

from importlib import import_module

from germane.errors import MissingExtra

for _module, _package in (("google.protobuf.message", "protobuf"), ("grpc.aio", "grpcio")):
    try:
        import_module(_module)
    except ImportError as _error:
        raise MissingExtra("client", _package) from _error
