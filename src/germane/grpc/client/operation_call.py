"""Operation call: one operation of the service as the client sends it and reads its result.

`ClientHandle` is the base of the handles in `handles.py` and `blocking_handles.py`, which are made from the table of
operations.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from germane.errors import GermaneError, InvalidInput
from germane.grpc.client.rpcs import ClientRpc, scope_to_wire
from germane.grpc.messages import operation_pb2
from germane.types.codec import decode, encode
from germane.types.json_text import write_json
from germane.types.nested_data import dump

_MAX_BYTES = 15 << 20
"""Bytes of the arguments of one call; gRPC takes 16 MiB with what stands around them."""


class ClientHandle:
    """The methods of one handle, within one scope, over the client's connection."""

    def __init__(self, of: ClientHandle) -> None:
        self._of = of

    @property
    def _client(self) -> Any:
        """The client, which has the scope and runs RPCs."""
        return self._of._client

    def _read(self, name: str, result: Any, /, **given: Any) -> Any:
        """Calls an operation that only reads. Raises germane's errors, `StoreUnavailable` where the service doesn't answer."""
        client = self._client
        request = operation_pb2.ReadRequest(scope=scope_to_wire(client.scope), operation=name, arguments=_arguments(given))
        return client.run(ClientRpc(operation_pb2.OperationServiceStub, "Read", request, _reader(name, result), streams=True))

    def _write(self, name: str, result: Any, /, **given: Any) -> Any:
        """As `_read`, for an operation that writes."""
        client = self._client
        request = operation_pb2.WriteRequest(scope=scope_to_wire(client.scope), operation=name, arguments=_arguments(given))
        return client.run(ClientRpc(operation_pb2.OperationServiceStub, "Write", request, _reader(name, result), streams=True))


def _arguments(given: Mapping[str, Any]) -> bytes:
    """Returns arguments as JSON. Raises `InvalidInput` for a value that JSON has nothing for."""
    written = write_json({name: _argument(name, value) for name, value in given.items()})
    if len(written) > _MAX_BYTES:
        raise InvalidInput(f"the arguments hold more than {_MAX_BYTES >> 20} MiB", advice="give them in several calls")
    return written


def _argument(name: str, value: Any) -> Any:
    def other(one: Any) -> Any:
        if (dumped := dump(one)) is not None:
            return encode(dumped, other=other)
        if isinstance(one, Iterable):
            return [encode(each, other=other) for each in one]
        raise InvalidInput(f"holds a {type(one).__name__}, which can't be sent", path=name)

    try:
        return encode(value, other=other)
    except RecursionError:
        raise InvalidInput("is nested too deep, or contains itself", path=name) from None


def _reader(name: str, result: Any) -> Callable[[Iterable[Any]], Any]:
    """Returns the reader of an operation's result."""

    def read(parts: Iterable[Any]) -> Any:
        try:
            return decode(result, json.loads(b"".join(part.result for part in parts)), name, lenient=True)
        except ValueError as error:
            raise GermaneError(f"the answer of {name} can't be read ({type(error).__name__})") from None

    return read
