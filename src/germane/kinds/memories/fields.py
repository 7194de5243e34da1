"""Fields: the fields that a caller gives for a memory, checked, screened for secrets and made its content (MEM-1).

Each check returns the value in its normal form or raises `InvalidInput`, whose message names the value and never quotes
content. Attributes that every memory has (tags, sensitivity, validity) aren't content: `plans.py` splits them off.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, fields, replace
from datetime import datetime
from itertools import islice
from types import MappingProxyType
from typing import Any, get_args

from germane.clock import aware
from germane.errors import InvalidInput, Phrase, UnknownName
from germane.kinds.memories.value import KINDS, Content, Fact
from germane.text.normal import normalised
from germane.text.secrets.detection import SecretScreen, find_secrets
from germane.types.candidate import Provenance, Sensitivity, SourceKind
from germane.types.checks import check_entries, check_one_of, check_size, check_text, check_type, check_unicode
from germane.types.limits import FIELD_VALUES, ID, LABEL, MEMORY_TEXT, NAME, NAMES, REFERENCES, TAG
from germane.types.nested_data import bounded

# Checks of single values: texts, labels, tags, times, JSON, provenance. The graph, keys and exports use them too.


_MAX_LABEL = LABEL.maximum
_MAX_TAG = TAG.maximum
_MAX_DENORMAL = 16
"""A label that is this many times too long is refused before it is normalised."""
SOURCE_KINDS = get_args(SourceKind)


def words(name: str, value: object, *, empty: bool = False) -> str:
    """Returns a text unchanged. It must not be blank, unless `empty`."""
    text = check_text(name, value, MEMORY_TEXT)
    if not empty and not text.strip():
        raise InvalidInput("is empty", path=name, advice="give it some text")
    return text


def label(name: str, value: object, *, max_length: int = _MAX_LABEL) -> str:
    """Returns a short name, such as a fact's key or a tag, in NFC, stripped and with single blanks. Case is kept."""
    given = check_type(name, value, str, "a string")
    # before any work; blanks and combining accents make a label longer than its normal form
    if len(given) > _MAX_DENORMAL * max_length:
        raise InvalidInput(f"must have 1 to {max_length} characters, not {len(given):,}", path=name)
    found = " ".join(normalised(check_unicode(name, given)).split())
    if not 1 <= len(found) <= max_length:
        raise InvalidInput(f"must have 1 to {max_length} characters, not {len(found)}", path=name)
    if any(unicodedata.category(char) == "Cc" for char in found):
        raise InvalidInput("must not hold control characters", path=name)
    return found


def tag_names(value: object) -> tuple[str, ...]:
    """Returns tags as labels of at most 64 characters, sorted, each once."""
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise InvalidInput(f"must be a list of strings, not {type(value).__name__}", path="tags")
    tags = tuple(islice(value, NAMES.maximum + 1))
    check_size("tags", len(tags), NAMES, at_least=True)
    return tuple(sorted({label("tag", tag, max_length=_MAX_TAG) for tag in tags}))


def moment(name: str, value: object, zone: str) -> datetime:
    """Returns a time in UTC, from a datetime or an ISO 8601 string. A naive time is local time of `zone` (SCOPE-4)."""
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError as error:
            raise InvalidInput(
                "isn't a time", path=name, advice="give a datetime or ISO 8601 such as 2024-05-08T14:30+02:00"
            ) from error
    return aware(check_type(name, value, datetime, "a datetime or an ISO 8601 string"), zone, name)


def ends_after(beginning: datetime, *, given: bool, **ends: datetime | None) -> None:
    """Raises `InvalidInput` where one of `ends` isn't after the `beginning`; `given` says whether the caller named that."""
    for name, end in ends.items():
        if end is not None and end <= beginning:
            since = "" if given else ": give valid_from too, where it held before"
            raise InvalidInput(f"{end.isoformat()} is not after the beginning, {beginning.isoformat()}{since}", path=name)


def json_value(name: str, value: object) -> Any:
    """Returns `value` as it comes back from JSON (tuples become lists). A text is returned unchanged. Raises `InvalidInput` for
    a value that JSON can't hold."""
    if isinstance(value, str):
        return words(name, value)
    bounded(name, value, FIELD_VALUES)
    try:
        written = json.dumps(value, ensure_ascii=False, allow_nan=False)
        words(name, written)
        return json.loads(written)
    except (TypeError, ValueError, RecursionError) as error:
        if isinstance(error, InvalidInput):
            raise
        number = isinstance(error, ValueError) and "Out of range float" in str(error)
        why = "NaN and infinities aren't JSON" if number else f"{type(error).__name__} in a {type(value).__name__}"
        raise InvalidInput(f"can't be written as JSON: {why}", path=name) from error


def check_provenance(given: object) -> Provenance:
    """Returns the provenance with its references as a tuple and its metadata as it comes back from JSON."""
    given = check_type("provenance", given, Provenance, "a Provenance")
    check_one_of("provenance.source_kind", given.source_kind, SOURCE_KINDS)
    for name, limit in (("channel", NAME), ("session", ID), ("message_id", ID), ("tool_call_id", ID)):
        if (value := getattr(given, name)) is not None:
            check_text(f"provenance.{name}", value, limit)
    check_type("provenance.metadata", given.metadata, Mapping, "a dict")
    metadata = json_value("provenance.metadata", dict(given.metadata)) if given.metadata else {}
    return replace(given, refs=check_entries("provenance.refs", given.refs, REFERENCES, ID), metadata=metadata)


MAIN_FIELDS: Mapping[str, str] = MappingProxyType(
    {"fact": "value", "preference": "text", "procedure": "body", "behavior": "text", "episode": "summary", "note": "body"}
)
"""The field of each kind that a memory's positional `text` fills."""

_Check = Callable[[object, str], Any]
_FIELD_CHECKS: Mapping[str, _Check] = MappingProxyType(
    {
        "key": lambda value, _: label("key", value),
        "value": lambda value, _: json_value("value", value),
        "text": lambda value, _: words("text", value),
        "body": lambda value, _: words("body", value),
        "summary": lambda value, _: words("summary", value),
        "title": lambda value, _: words("title", value, empty=True),
        "observed_at": lambda value, zone: None if value is None else moment("observed_at", value, zone),
        "occurred_at": lambda value, zone: None if value is None else moment("occurred_at", value, zone),
    }
)


def content_fields(kind: str) -> tuple[str, ...]:
    """Returns the names of the fields of this kind. Raises `UnknownName` for an unknown kind."""
    if kind not in KINDS:
        raise UnknownName("{} is unknown", kind, path="kind", advice=f"it is one of {', '.join(KINDS)}")
    return tuple(field.name for field in fields(KINDS[kind]))


def a_kind(kind: str) -> str:
    """Returns the name of the kind with its article, for an error message."""
    return f"an {kind}" if kind == "episode" else f"a {kind}"


def compose(text: str | None = None, *, kind: str = "note", given: Mapping[str, Any], zone: str = "UTC") -> Content:
    """Returns the content of a memory of this `kind` from its main `text` (see `MAIN_FIELDS`) and the other fields by name.

    Naive times are local time of `zone`. Raises `UnknownName` for an unknown kind, and `InvalidInput` for an unknown field, a
    missing field, and an invalid value.
    """
    allowed, main = content_fields(kind), MAIN_FIELDS[kind]
    given = dict(given)
    if text is not None:
        if main in given:
            raise InvalidInput(f"is given twice: it is what the text of {a_kind(kind)} is", path=main)
        given[main] = words(main, text)
    if strangers := sorted(set(given) - set(allowed)):
        raise InvalidInput(
            f"{a_kind(kind)} has no {{}}", Phrase(", ".join(strangers)), advice=f"its fields are {', '.join(allowed)}"
        )
    needed = [field.name for field in fields(KINDS[kind]) if field.default is MISSING and field.name not in given]
    if needed:
        raise InvalidInput(f"{a_kind(kind)} needs {' and '.join(f'its {name}' for name in sorted(needed))}")
    return KINDS[kind](**{name: _FIELD_CHECKS[name](value, zone) for name, value in given.items()})


# What is stored of a memory after the policy on secrets was applied to each of its fields.


SECRET_TAG = "secret"
"""The tag of a memory that is stored with its secret."""
_BODIES = ("value", "body")
"""The fields that stand under a key or a title."""


def screened_content(content: Content, given: Iterable[str], screen: SecretScreen) -> Content:
    """Returns the content with the policy applied to the fields named in `given`, each by itself and then all of them as one
    text. A fact's value stands under its key, a body under its title. Raises `InvalidInput` where the policy refuses it."""
    heading = content.key if isinstance(content, Fact) else getattr(content, "title", "")
    names = [field.name for field in fields(content) if field.name in set(given)]
    changed: dict[str, Any] = {}
    for screen.place in names:
        changed[screen.place] = screen.json(getattr(content, screen.place), heading if screen.place in _BODIES else "")
    content = replace(content, **changed)
    text = content.text
    for one in find_secrets(text) if heading and screen.policy != "off" else ():
        if not screen.knows(text[one.start : one.end]):
            screen.note(one.kind, text[one.start : one.end])
    if screen.policy != "redact" or not screen.found:
        return content
    return replace(content, **{name: screen.again(getattr(content, name)) for name in names})


def screened_provenance(provenance: Provenance, screen: SecretScreen) -> Provenance:
    """Returns the provenance with the policy applied to its references, its channel and its metadata. The names of a session,
    a message and a tool call identify something, and stay as they are."""
    screen.place = "provenance"
    refs = tuple(map(screen.text, provenance.refs))
    channel = provenance.channel and screen.text(provenance.channel)
    return replace(provenance, refs=refs, channel=channel, metadata=screen.json(provenance.metadata))


def screened_attributes(about: dict[str, Any], screen: SecretScreen, tags: Iterable[str]) -> dict[str, Any]:
    """Returns the attributes `about` of a memory, with the policy applied to its tags where they are given. One that is stored
    with its secret is `sensitive`, and has the tag `secret` beside `tags`."""
    if "tags" in about:
        screen.place = "tags"
        tags = sorted({screen.text(tag)[: TAG.maximum] for tag in tags})
        about = about | {"tags": tuple(tags)}
    if not screen.found or screen.policy == "redact":
        return about
    strict: Sensitivity = "sensitive"
    return about | {"sensitivity": strict, "tags": tuple(sorted({*tags, SECRET_TAG}))}
