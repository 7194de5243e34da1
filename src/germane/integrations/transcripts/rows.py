"""Rows: a message of a transcript, a line that can't be read, and what is said of the file; JSON Lines as objects."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from hashlib import blake2b
from typing import Any, NamedTuple

from germane.types.message import Message


class MessageRow(NamedTuple):
    """A message and the id of its conversation. `raw` is its dict in a provider's shape, where the file holds one: it is stored
    with the message."""

    session: str
    message: Message
    raw: Mapping[str, Any] | None = None


class BrokenRow(NamedTuple):
    """A row that can't be used: its place in the file and the reason."""

    where: str
    why: str


class Remark(NamedTuple):
    """What the answer says of the file: how many things of a kind were left out on purpose, or were taken from beside the
    conversations."""

    what: str
    number: int = 1
    left_out: bool = True


_GROWN = " blocks"


def grown(row: MessageRow) -> MessageRow | None:
    """Returns the message under an id for its present length: a transcript that was imported while its agent wrote has the
    beginning of it under the message's own id. None for a message that can't grow, and for one that has got such an id."""
    raw, id = row.raw, row.message.id
    if raw is None or id is None or not isinstance(raw.get("content"), list) or id.endswith(_GROWN):
        return None
    named = f"{id}/{len(raw['content'])}{_GROWN}"
    return row._replace(message=replace(row.message, id=named), raw={**raw, "id": named})


class MessageNaming:
    """Makes ids for messages that have none, so that importing a file twice stores each message once.

    An id depends on the session, role and text, and on how many equal messages came before: the second "ok" of a session gets
    another id than the first."""

    def __init__(self) -> None:
        self._seen: dict[tuple[str, bytes], int] = {}

    def name(self, session: str, role: str, text: str) -> str:
        digest = blake2b(f"{role}\0{text}".encode("utf-8", "surrogatepass"), digest_size=8)
        nth = self._seen[session, digest.digest()] = self._seen.get((session, digest.digest()), 0) + 1
        return f"import-{digest.hexdigest()}-{nth}"


# JSON Lines: one object per line. A line that can't be read is reported, and reading continues.


def objects(lines: Iterable[bytes]) -> Iterator[tuple[int, Mapping[str, Any] | str]]:
    """Each line that isn't blank, with its number (from 1): the object, or as text the reason why it can't be read."""
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield number, _object(line)


def _object(line: bytes) -> Mapping[str, Any] | str:
    try:
        entry = json.loads(line.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        return f"not UTF-8 at byte {error.start + 1}"
    except (ValueError, RecursionError) as error:
        return f"not JSON: {error.msg if isinstance(error, json.JSONDecodeError) else 'too deep or too large a number'}"
    return entry if isinstance(entry, dict) else f"must be an object, not {type(entry).__name__}"
