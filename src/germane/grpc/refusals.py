"""Refusals: what went wrong as a status that may be shown: it names fields and types, and holds no content (RPC-4).

The front's messages name the value that can't be used, and some values are content: a role may be a sentence that was put in
the wrong place. So of what stands in quotes only names by the contract (a model, a strategy, an id) and germane's own examples
are let through. Of what isn't the caller's to mend, its type's name is all that is said.
"""

from __future__ import annotations

import re
from ast import literal_eval
from collections.abc import Collection, Iterator

import grpc
from google.protobuf.message import Message

from germane.errors import (
    Conflict,
    EmbedderError,
    InvalidInput,
    MissingExtra,
    NotFound,
    StoreCorrupt,
    StoreError,
    StoreTooNew,
    StoreUnavailable,
)

__all__ = ["Refused", "Status", "invalid", "refusal"]

Status = tuple[grpc.StatusCode, str]

_LONGEST = 400
_CODES: tuple[tuple[type[Exception], grpc.StatusCode], ...] = (
    (Conflict, grpc.StatusCode.ALREADY_EXISTS),
    (InvalidInput, grpc.StatusCode.INVALID_ARGUMENT),
    (NotFound, grpc.StatusCode.NOT_FOUND),
)
_FAULTS: tuple[tuple[type[Exception], grpc.StatusCode, str], ...] = (
    (StoreUnavailable, grpc.StatusCode.UNAVAILABLE, "the store can't be reached now: try again"),
    (StoreCorrupt, grpc.StatusCode.DATA_LOSS, "the store is damaged"),
    (StoreTooNew, grpc.StatusCode.FAILED_PRECONDITION, "the store was written by a newer germane"),
    (StoreError, grpc.StatusCode.UNAVAILABLE, "the store can't do that now"),
    (EmbedderError, grpc.StatusCode.UNAVAILABLE, "the embedder doesn't answer: try again"),
    (MissingExtra, grpc.StatusCode.FAILED_PRECONDITION, "the server lacks an optional package"),
)
_NAMES = frozenset(
    {"org_id", "agent_id", "user_id", "session_id", "model", "zone", "strategy", "provider", "source_kind"}
    | {"kind", "kinds", "sensitivities", "id", "ids", "page_token"}
)
"""Fields whose values are names: they may be said again."""
_EXAMPLES = frozenset({"gpt-4o", "Europe/Vienna", "UTC", "id", "type", "function", "text"})
_QUOTED = re.compile(r"""(?<!\w)(?:'(?:[^'\\]|\\.|'(?=\w))*+'?+|"(?:[^"\\]|\\.|"(?=\w))*+"?+)""", re.DOTALL)
"""What stands in quotes, to the end of the text where it isn't closed: wherever a quote opens there is something to replace. A
quote before a letter closes nothing."""
_OURS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
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
        (r"^limit ", "{limit} "),
        (r"^cursor ", "page_token "),
        (r"^tools(?=\[| has)", "{options}tools_json"),
        (r"^at (?=\d)", "{options}at "),
        (r"^directive (?=has|holds|must)", "text "),
        (r"^(body|summary|text|value)(?= (?:has|holds|is|must|can't)|:)", "{main}"),
        (r"^(title|key|tags|tag|confidence|sensitivity|pinned|\w+_at|valid_\w+)(?= |\[)", r"{fields}\1"),
    )
)
"""The front's names of arguments, and the proto's."""


class Refused(Exception):
    """A call that isn't done, with what its caller is told: made here, of nothing that a caller sent."""

    def __init__(self, code: grpc.StatusCode, text: str) -> None:
        super().__init__(text)
        self.code, self.text = code, text


def invalid(text: str) -> Refused:
    """`text` begins with the field as the proto names it."""
    return Refused(grpc.StatusCode.INVALID_ARGUMENT, text)


def refusal(error: BaseException, request: Message | None = None) -> Status:
    """The status for what was raised while `request` was answered."""
    if isinstance(error, Refused):
        return error.code, error.text
    for kind, code in _CODES:
        if isinstance(error, kind):
            return code, _worded(str(error), request)
    for kind, code, text in _FAULTS:
        if isinstance(error, kind):
            return code, f"{text} ({type(error).__name__})"
    return grpc.StatusCode.INTERNAL, f"internal error ({type(error).__name__})"


def _worded(text: str, request: Message | None) -> str:
    fields = () if request is None else request.DESCRIPTOR.fields_by_name
    words = {
        "options": "options." if "options" in fields else "",
        "where": "scope." if "scope" in fields else "options." if text.startswith(("unknown time zone", "zone ")) else "",
        "limit": "page_size" if "page_size" in fields else "limit",
        "fields": "fields." if "fields" in fields else "",
        "main": "text" if getattr(request, "text", "") else r"fields.\1",
    }
    for pattern, said in _OURS:
        if pattern.search(text):
            for name, word in words.items():
                said = said.replace(f"{{{name}}}", word)
            text = pattern.sub(said, text, count=1)
            break
    shown = _EXAMPLES if request is None else _EXAMPLES | set(_names(request))
    return _shown(text, shown)


def _shown(text: str, names: Collection[object]) -> str:
    """`text` without what stands in quotes and isn't one of `names`; what comes after 400 characters isn't looked at."""
    pieces, length, at = list[str](), 0, 0
    for quoted in _QUOTED.finditer(text):
        pieces += (text[at : quoted.start()], quoted[0] if _value(quoted[0]) in names else "'…'")
        length += len(pieces[-2]) + len(pieces[-1])
        at = quoted.end()
        if length > _LONGEST:
            break
    whole = "".join((*pieces, text[at:] if length <= _LONGEST else ""))
    return whole if len(whole) <= _LONGEST else f"{whole[:_LONGEST]}…"


def _names(request: Message) -> Iterator[str]:
    for field, value in request.ListFields():
        if field.name in _NAMES:
            yield from value if field.is_repeated else [value]
        elif field.message_type is not None and not field.is_repeated:
            yield from _names(value)


def _value(quoted: str) -> object:
    try:
        return literal_eval(quoted) if len(quoted) <= 2 * _LONGEST else None
    except (SyntaxError, ValueError):
        return None
