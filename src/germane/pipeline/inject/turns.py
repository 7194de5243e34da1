"""Turns: the human turns of a request, each with the keyed hash by which the text injected for it is found again (INJECT-6).

A turn is known by its content together with that of the message before it: "ok" twice in a session are two turns. The hashes
are keyed, so that they don't tell what was said.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

from germane.injections.operations import MAX_RECORDS
from germane.types.message import Message, is_human

__all__ = ["HumanTurn", "human_turns"]


@dataclass(frozen=True, slots=True)
class HumanTurn:
    """`index` is the message's. `key` is a hash of the content and of the message before, `said` of the content alone. `first`
    says that no other message but system messages stands before: in a trimmed window, the one before may be missing."""

    index: int
    key: str
    said: str
    first: bool


def human_turns(messages: Sequence[Message], key: bytes) -> tuple[HumanTurn, ...]:
    """Returns the human turns, in order: the last ones, as no older turn has a record any more. System messages don't count as
    the message before."""
    spoken = [index for index, message in enumerate(messages) if message.role != "system"]
    human = [(place, index) for place, index in enumerate(spoken) if is_human(messages[index])]
    found: list[HumanTurn] = []
    for place, index in human[-MAX_RECORDS:]:
        said = _hash(key, messages[index].content)
        context = _hash(key, messages[spoken[place - 1]].content) if place else ""
        found.append(HumanTurn(index, _hash(key, f"{said} {context}"), said, not place))
    return tuple(found)


def _hash(key: bytes, text: str) -> str:
    return blake2b(text.strip().encode("utf-8", "surrogatepass"), digest_size=16, key=key[:64]).hexdigest()
