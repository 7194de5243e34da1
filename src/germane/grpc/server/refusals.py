"""Refusals: maps an exception to a gRPC status and a text that names fields and types but holds no content (RPC-4).

The API's errors show the value that can't be used, and such a value may be content: a sentence in the place of a role, for
example. An error holds these values apart from its text (`GermaneError.said`), and of them the status shows only the request's
names: a model, a strategy, an id. For an error that the caller can't correct, the text names the type of the exception only.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from types import MappingProxyType

import grpc
from google.protobuf.message import Message

from germane.errors import (
    Conflict,
    ConsentNeeded,
    EmbedderError,
    GermaneError,
    InvalidInput,
    LLMError,
    MissingExtra,
    NotFound,
    NotPermitted,
    Stale,
    StoreCorrupt,
    StoreError,
    StoreTooNew,
    StoreUnavailable,
    quoted,
)

Status = tuple[grpc.StatusCode, str]

_MAX_CHARACTERS = 400
_CODES: tuple[tuple[type[GermaneError], grpc.StatusCode], ...] = (
    (Stale, grpc.StatusCode.FAILED_PRECONDITION),
    (Conflict, grpc.StatusCode.ALREADY_EXISTS),
    (InvalidInput, grpc.StatusCode.INVALID_ARGUMENT),
    (NotFound, grpc.StatusCode.NOT_FOUND),
    (NotPermitted, grpc.StatusCode.PERMISSION_DENIED),
    (ConsentNeeded, grpc.StatusCode.PERMISSION_DENIED),
)
_FAULTS: tuple[tuple[type[Exception], grpc.StatusCode, str], ...] = (
    (StoreUnavailable, grpc.StatusCode.UNAVAILABLE, "the store can't be reached now: try again"),
    (StoreCorrupt, grpc.StatusCode.DATA_LOSS, "the store is damaged"),
    (StoreTooNew, grpc.StatusCode.FAILED_PRECONDITION, "the store was written by a newer germane"),
    (StoreError, grpc.StatusCode.UNAVAILABLE, "the store can't do that now"),
    (EmbedderError, grpc.StatusCode.UNAVAILABLE, "the embedder doesn't answer: try again"),
    (LLMError, grpc.StatusCode.UNAVAILABLE, "the language model doesn't answer: try again"),
    (MissingExtra, grpc.StatusCode.FAILED_PRECONDITION, "the server lacks an optional package"),
)
_NAME_FIELDS = frozenset(
    {"org_id", "agent_id", "user_id", "session_id", "model", "zone", "strategy", "provider", "source_kind"}
    | {"kind", "kinds", "sensitivities", "id", "ids"}
)
"""Fields whose values are names, which an error text may show."""


class Refused(Exception):
    """The call is refused with this status. The text is the port's own and holds nothing that a caller sent."""

    def __init__(self, code: grpc.StatusCode, text: str) -> None:
        super().__init__(text)
        self.code, self.text = code, text


def invalid(text: str) -> Refused:
    """Returns an INVALID_ARGUMENT error; `text` begins with the field's name in the proto."""
    return Refused(grpc.StatusCode.INVALID_ARGUMENT, text)


def refusal(
    error: BaseException,
    request: Message | None = None,
    names: Collection[object] = (),
    paths: Mapping[str, str] = MappingProxyType({}),
) -> Status:
    """Returns the status and text for an error that was raised while `request` was handled. `names` are names in the request
    that the text may show, besides those in the request's own fields. `paths` are the request's fields by the names of the
    library's arguments."""
    if isinstance(error, Refused):
        return error.code, error.text
    for kind, code in _CODES:
        if isinstance(error, kind):
            named = error.renamed(lambda path: field_of(path, paths)) if isinstance(error, InvalidInput) else error
            return code, _told(named, {*names, *(() if request is None else _names(request))})
    for fault, code, text in _FAULTS:
        if isinstance(error, fault):
            return code, f"{text} ({type(error).__name__})"
    return grpc.StatusCode.INTERNAL, f"internal error ({type(error).__name__})"


def field_of(path: str, paths: Mapping[str, str]) -> str:
    """Returns the place in the request of an argument, or of a part of it such as `messages[3].role`."""
    argument = path[: min((at for sign in ".[ " if (at := path.find(sign)) >= 0), default=len(path))]
    rest = path[len(argument) :]
    if not path or argument in paths:
        return paths[argument] + rest if path else path
    return f"{paths['']}.{path}" if "" in paths else path


def trailers(error: BaseException) -> tuple[tuple[str, str], ...]:
    """Returns the trailing metadata of a refused call: the name of an error that shares its status with others, and of a
    request for consent its id and who is asked."""
    if isinstance(error, ConsentNeeded):
        consent = (("germane-consent-request", error.request), ("germane-asked-of", error.asked_of))
        return (("germane-error", "ConsentNeeded"), *consent)
    return (("germane-error", type(error).__name__),) if isinstance(error, NotPermitted | Stale) else ()


def hiding(names: Collection[object]) -> Callable[[object], str]:
    """Returns how an error's values are shown to a caller: of texts only `names`."""
    return lambda value: "'…'" if isinstance(value, str) and value not in names else quoted(value)


def _told(error: GermaneError, names: Collection[object]) -> str:
    """Returns the text of the error without the values that aren't `names`, shortened to 400 characters, and fit for a status:
    one with a lone surrogate would never be sent."""
    text = error.said(hiding(names))
    text = text.encode("utf-8", "replace").decode()
    return text if len(text) <= _MAX_CHARACTERS else f"{text[:_MAX_CHARACTERS]}…"


def _names(request: Message) -> Iterator[str]:
    """Yields the values of the request's name fields."""
    for field, value in request.ListFields():
        if field.message_type is not None:
            yield from () if field.is_repeated else _names(value)
        elif field.name in _NAME_FIELDS:
            yield from value if field.is_repeated else [value]
