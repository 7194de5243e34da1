"""Operation call: one operation of the service as a client sends it, in its scope, and reads its result.

`ClientHandle` is the base of the handles in `handles.py` and `blocking_handles.py`, which are made from the table of
operations. The client below them is a `ScopedClient` whose `call` sends an operation, over gRPC or HTTP.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import EllipsisType
from typing import Any, Self

from germane.errors import GermaneError, InvalidInput
from germane.types.codec import decode, encode
from germane.types.json_text import write_json
from germane.types.nested_data import dump
from germane.types.operation import Right

_MAX_BYTES = 15 << 20
"""Bytes of the arguments of one call; the service takes 16 MiB with what stands around them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientScope:
    """The org, agent and user whose data a client's calls use by default. `zone` is the time zone of naive datetimes.

    Raises `InvalidInput` for a value that is no string, and for an empty one where a name is required.
    """

    org: str = "default"
    agent: str = "default"
    user: str | None = None
    zone: str = "UTC"

    def __post_init__(self) -> None:
        for name in ("org", "agent", "zone"):
            checked_text(name, getattr(self, name))
        checked_text("user", self.user, optional=True)

    def within(self, **changes: str | None) -> ClientScope:
        """Returns a copy with those of `changes` that aren't None."""
        own = {name: getattr(self, name) for name in ("org", "agent", "user", "zone")}
        return ClientScope(**own | {name: value for name, value in changes.items() if value is not None})


class ScopedClient:
    """A client with the scope of its calls."""

    scope: ClientScope

    def within(
        self,
        *,
        org: str | None = None,
        agent: str | None = None,
        user: str | EllipsisType | None = ...,
        zone: str | None = None,
    ) -> Self:
        """Returns a client for another scope that shares this one's connection, limits and breaker. Costs next to nothing.

        An argument that is left out keeps this client's value; `user=None` returns a client without a user, as
        `germane.agent(name)` returns the agent without one. Raises `InvalidInput`.
        """
        other = copy.copy(self)
        kept = self.scope.user if user is ... else user
        other.scope = replace(self.scope.within(org=org, agent=agent, zone=zone), user=kept)
        return other

    def call(self, one: OperationCall) -> Any:
        """Sends an operation and returns what its `read` makes of the answer; an asyncio client returns an awaitable of that.
        Raises germane's errors, `StoreUnavailable` where the service doesn't answer."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class OperationCall:
    """One call of the operation `name`. `right` is what it needs, `arguments` are JSON, `result` is the type of its result."""

    name: str
    right: Right
    arguments: bytes
    result: Any

    def read(self, answer: bytes) -> Any:
        """Returns the result that the JSON of an answer holds. Raises `GermaneError`."""
        try:
            return decode(self.result, json.loads(answer), self.name, lenient=True)
        except (ValueError, RecursionError) as error:
            raise GermaneError(f"the answer of {self.name} can't be read ({type(error).__name__})") from None


class ClientHandle:
    """The methods of one handle, within one scope, over the client's connection."""

    def __init__(self, of: ClientHandle) -> None:
        self._of = of

    @property
    def _client(self) -> ScopedClient:
        return self._of._client

    def _read(self, name: str, result: Any, /, **given: Any) -> Any:
        """Calls an operation that only reads. Raises germane's errors, `StoreUnavailable` where the service doesn't answer."""
        return self._client.call(OperationCall(name, "read", arguments_to_json(given), result))

    def _write(self, name: str, result: Any, /, **given: Any) -> Any:
        """As `_read`, for an operation that writes."""
        return self._client.call(OperationCall(name, "write", arguments_to_json(given), result))


def arguments_to_json(given: Mapping[str, Any]) -> bytes:
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


def checked_key(key: object) -> str | None:
    """Returns an API key, or None. Raises `InvalidInput` for what can't be one; the error doesn't show it."""
    if key is not None and not (isinstance(key, str) and key.isascii() and key.isprintable() and key.strip()):
        raise InvalidInput("must be the API key as `germane keys create` shows it", path="key")
    return key


Pem = bytes | str | Path
"""A certificate or key in PEM: bytes are the text itself, a string or a path names a file."""


def read_pem(name: str, given: Pem | None) -> bytes | None:
    """Returns the text of a certificate or key. Raises `InvalidInput` for a file that can't be read."""
    if given is None or isinstance(given, bytes):
        return given
    try:
        return Path(given).read_bytes()
    except (OSError, TypeError, ValueError) as error:
        raise InvalidInput(f"can't be read: {error}", path=name) from None


def check_pair(certificate: Pem | None, certificate_key: Pem | None) -> None:
    """Raises `InvalidInput` for a certificate without its key, or a key without its certificate."""
    if (certificate is None) != (certificate_key is None):
        raise InvalidInput("certificate and certificate_key go together", advice="give both, or neither")


def checked_text(name: str, value: object, *, optional: bool = False) -> str:
    """Returns `value`, or "" for None where it is `optional`. Raises `InvalidInput` for any other type, and for blank text that
    isn't optional."""
    if value is None and optional:
        return ""
    if not isinstance(value, str) or not (optional or value.strip()):
        raise InvalidInput(
            f"must be a string{'' if optional else ' that says something'}, not {_description(value)}", path=name
        )
    return value


def _description(value: object) -> str:
    """Names the type only, because the error is logged and logs hold no content."""
    return "an empty one" if isinstance(value, str) else type(value).__name__
