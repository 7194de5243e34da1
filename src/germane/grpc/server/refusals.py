"""Refusals: maps an exception to a gRPC status and a text that names fields and types but holds no content (RPC-4).

The API's error texts quote the value that can't be used, and such a value may be content: a sentence in the place of a role,
for example. So of quoted values the text keeps only the request's names (a model, a strategy, an id) and germane's own
examples. For an error that the caller can't correct, the text names the type of the exception only.
"""

from __future__ import annotations

import re
from ast import literal_eval
from collections.abc import Collection, Iterator

import grpc
from google.protobuf.message import Message

from germane.errors import (
    Conflict,
    ConsentNeeded,
    EmbedderError,
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
)

Status = tuple[grpc.StatusCode, str]

_MAX_CHARACTERS = 400
_CODES: tuple[tuple[type[Exception], grpc.StatusCode], ...] = (
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
"""Fields whose values are names, which an error text may quote."""
_EXAMPLES = frozenset({"gpt-4o", "Europe/Vienna", "UTC", "id", "type", "function", "text"})
_QUOTED = re.compile(r"""(?<!\w)(?:'(?:[^'\\]|\\.|'(?=\w))*+'?+|"(?:[^"\\]|\\.|"(?=\w))*+"?+)""", re.DOTALL)
"""A quoted value. One without a closing quote reaches to the end of the text, so that no opening quote leaves its value in. A
quote before a letter is an apostrophe and closes nothing."""
_FIELD_NAMES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), said)
    for pattern, said in (
        (r"^message (\d+)(?=[ :])", r"messages[\1]"),
        (r"^(?=messages is empty)", ""),
        (r"^filters: ", "{options}filters: "),
        (r"^(?=unknown (provider|strategy) )", r"{options}\1: "),
        (r"^(?=unknown kind )", "kind: "),
        (r"^(?=unknown time zone )", "{where}zone: "),
        (r"^zone (?=has|holds)", "{where}zone "),
        (r"^(provider|strategy|query) (?=has|holds)", r"{options}\1 "),
        (r"^(org|agent|user) (?=must)", r"{where}\1_id "),
        (r"^session (?=must)", "session_id "),
        (r"^(user|session) (?=has|holds|is blank)", r"\1_id "),
        (r"^max_tokens ", "available_tokens "),
        (r"^tools(?=\[| has)", "{options}tools_json"),
        (r"^at (?=\d)", "{options}at "),
        (r"^(body|summary|text|value)(?= (?:has|holds|is|must|can't)|:)", "{main}"),
        (r"^(title|key|tags|tag|confidence|sensitivity|pinned|\w+_at|valid_\w+)(?= |\[)", r"{fields}\1"),
    )
)
"""Patterns of the API's argument names in error texts, and the request's field names that replace them."""


class Refused(Exception):
    """The call is refused with this status. The text is the port's own and holds nothing that a caller sent."""

    def __init__(self, code: grpc.StatusCode, text: str) -> None:
        super().__init__(text)
        self.code, self.text = code, text


def invalid(text: str) -> Refused:
    """Returns an INVALID_ARGUMENT error; `text` begins with the field's name in the proto."""
    return Refused(grpc.StatusCode.INVALID_ARGUMENT, text)


def refusal(error: BaseException, request: Message | None = None, names: Collection[object] = ()) -> Status:
    """Returns the status and text for an error that was raised while `request` was handled. `names` are names in the request
    that the text may quote, besides those in the request's own fields."""
    if isinstance(error, Refused):
        return error.code, error.text
    for kind, code in _CODES:
        if isinstance(error, kind):
            return code, _with_field_names(str(error), request, names)
    for kind, code, text in _FAULTS:
        if isinstance(error, kind):
            return code, f"{text} ({type(error).__name__})"
    return grpc.StatusCode.INTERNAL, f"internal error ({type(error).__name__})"


def trailers(error: BaseException) -> tuple[tuple[str, str], ...]:
    """Returns the trailing metadata of a refused call: the name of an error that shares its status with others, and of a
    request for consent its id and who is asked."""
    if isinstance(error, ConsentNeeded):
        consent = (("germane-consent-request", error.request), ("germane-asked-of", error.asked_of))
        return (("germane-error", "ConsentNeeded"), *consent)
    return (("germane-error", type(error).__name__),) if isinstance(error, NotPermitted | Stale) else ()


def _with_field_names(text: str, request: Message | None, names: Collection[object]) -> str:
    """Replaces the API's argument names by the request's field names, and removes content."""
    fields = () if request is None else request.DESCRIPTOR.fields_by_name
    words = {
        "options": "options." if "options" in fields else "",
        "where": "scope." if "scope" in fields else "options." if text.startswith(("unknown time zone", "zone ")) else "",
        "fields": "fields." if "fields" in fields else "",
        "main": "text" if getattr(request, "text", "") else r"\1" if fields and "fields" not in fields else r"fields.\1",
    }
    for pattern, said in () if "arguments" in fields else _FIELD_NAMES:
        if pattern.search(text):
            for name, word in words.items():
                said = said.replace(f"{{{name}}}", word)
            text = pattern.sub(said, text, count=1)
            break
    allowed = {*_EXAMPLES, *names} if request is None else {*_EXAMPLES, *names, *_names(request)}
    return _without_content(text, allowed)


def _without_content(text: str, allowed: Collection[object]) -> str:
    """Returns `text` with '…' for every quoted value that isn't `allowed`, shortened to 400 characters, and fit for a status:
    one with a lone surrogate would never be sent."""
    pieces, length, end = list[str](), 0, 0
    for quoted in _QUOTED.finditer(text):
        pieces += (text[end : quoted.start()], quoted[0] if _value(quoted[0]) in allowed else "'…'")
        length += len(pieces[-2]) + len(pieces[-1])
        end = quoted.end()
        if length > _MAX_CHARACTERS:
            break
    whole = "".join((*pieces, text[end:] if length <= _MAX_CHARACTERS else ""))
    whole = whole.encode("utf-8", "replace").decode()
    return whole if len(whole) <= _MAX_CHARACTERS else f"{whole[:_MAX_CHARACTERS]}…"


def _names(request: Message) -> Iterator[str]:
    """Yields the values of the request's name fields."""
    for field, value in request.ListFields():
        if field.message_type is not None:
            yield from () if field.is_repeated else _names(value)
        elif field.name in _NAME_FIELDS:
            yield from value if field.is_repeated else [value]


def _value(quoted: str) -> object:
    """Returns the value that `repr` wrote, None where it can't be read."""
    try:
        return literal_eval(quoted) if len(quoted) <= 2 * _MAX_CHARACTERS else None
    except (SyntaxError, ValueError):
        return None
