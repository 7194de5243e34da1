"""Messages: the message classes, enum values and service stubs of both contracts, made at run time from `contract.binpb`.

`make proto` compiles proto/ to that file. Each proto file is one object here, named like the Python module that protoc would
make: `memory_pb2.Memory` is a class, `memory_pb2.VERDICT_HELPFUL` a number, `memory_pb2.MemoryServiceStub(channel)` calls the
RPCs of a service, and `memory_pb2.DESCRIPTOR` describes the file. For mypy all of them are `Any`.
"""

from __future__ import annotations

from functools import partial
from pkgutil import get_data
from typing import Any

from google.protobuf import struct_pb2, timestamp_pb2  # noqa: F401  # the contracts import these two files from the pool
from google.protobuf.descriptor import FileDescriptor, ServiceDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.descriptor_pool import Default
from google.protobuf.message_factory import GetMessageClass

_MAX_EXACT_INTEGER = 2**53
"""The largest whole number up to which a double represents every whole number exactly (IEEE 754)."""


def number_of(double: float) -> int | float:
    """Returns what the `number_value` of a `google.protobuf.Value` stands for: one that is whole stands for a whole number."""
    return int(double) if double.is_integer() and abs(double) <= _MAX_EXACT_INTEGER else double


class ProtoFile:
    """What one proto file declares at its top level, by name. A name is looked up at its first use."""

    def __init__(self, descriptor: FileDescriptor) -> None:
        self.DESCRIPTOR = descriptor

    def __getattr__(self, name: str) -> Any:
        found = self._declared(name)
        setattr(self, name, found)  # the next use doesn't come here
        return found

    def _declared(self, name: str) -> Any:
        file = self.DESCRIPTOR
        if (message := file.message_types_by_name.get(name)) is not None:
            return GetMessageClass(message)
        if (service := file.services_by_name.get(name.removesuffix("Stub"))) is not None and name.endswith("Stub"):
            return partial(ServiceStub, _rpcs(service))
        for enum in file.enum_types_by_name.values():
            if (value := enum.values_by_name.get(name)) is not None:
                return value.number
        raise AttributeError(f"{file.name} declares no {name}")


class ServiceStub:
    """Calls the RPCs of one service over a channel, blocking or asyncio: `stub.Remember(request, timeout=1.0)`."""

    def __init__(self, rpcs: list[tuple[str, str, bool, Any, Any]], channel: Any) -> None:
        for name, path, streams, serialize, parse in rpcs:
            connect = channel.unary_stream if streams else channel.unary_unary
            setattr(self, name, connect(path, request_serializer=serialize, response_deserializer=parse))


def _rpcs(service: ServiceDescriptor) -> list[tuple[str, str, bool, Any, Any]]:
    """Returns name, path, whether the answer is a stream, serialiser and parser of each RPC."""
    rpcs = []
    for rpc in service.methods:
        request, response = GetMessageClass(rpc.input_type), GetMessageClass(rpc.output_type)
        path = f"/{service.full_name}/{rpc.name}"
        rpcs.append((rpc.name, path, rpc.server_streaming, request.SerializeToString, response.FromString))
    return rpcs


def _read(contract: bytes) -> dict[str, Any]:
    """Adds the files to the default pool, where reflection looks for them and google's own files are. Returns each by its path.
    A file that a program has added before, with the same content, is no error."""
    pool = Default()
    files = {}
    for file in FileDescriptorSet.FromString(contract).file:
        pool.AddSerializedFile(file.SerializeToString())
        files[file.name] = ProtoFile(pool.FindFileByName(file.name))
    return files


_FILES = _read(get_data(__package__ or "", "contract.binpb") or b"")

context_pb2: Any = _FILES["germane/context/v1/context.proto"]
filters_pb2: Any = _FILES["germane/context/v1/filters.proto"]
memory_pb2: Any = _FILES["germane/context/v1/memory.proto"]
operation_pb2: Any = _FILES["germane/context/v1/operation.proto"]
ibex_pb2: Any = _FILES["ibex/context/v1/context.proto"]
