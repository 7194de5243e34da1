"""Turns: the human turns of a request, each with the keyed hash by which the text injected for it is found again (INJECT-6).

A turn is known by its content together with that of the message before it: "ok" twice in a session are two turns. The hashes
are keyed, so that they don't tell what was said. For a model that binds its thinking, a turn is known by all turns before it
too (INJECT-10): there, a text at the wrong one of two equal turns is a refused request.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b

from germane.injections.operations import MAX_BOUND_RECORDS, MAX_RECORDS
from germane.types.message import Message, is_human

__all__ = ["HumanTurn", "human_turns"]


@dataclass(frozen=True, slots=True)
class HumanTurn:
    """`index` is the message's. `key` is a hash of the content and of the message before, `said` of the content alone. `first`
    says that no other message but system messages stands before: in a trimmed window, the one before may be missing. `chain` is
    a hash of the keys of all human turns up to this one."""

    index: int
    key: str
    said: str
    first: bool
    chain: str = ""


def human_turns(messages: Sequence[Message], key: bytes, *, chained: bool = False) -> tuple[HumanTurn, ...]:
    """Returns the human turns, in order: the last ones, as no older turn has a record any more. System messages don't count as
    the message before. `chained` turns have a `chain`."""
    spoken = [index for index, message in enumerate(messages) if message.role != "system"]
    human = [(place, index) for place, index in enumerate(spoken) if is_human(messages[index])]
    found, chain = list[HumanTurn](), ""
    for place, index in human if chained else human[-MAX_RECORDS:]:
        said = _hash(key, messages[index].content)
        context = _hash(key, messages[spoken[place - 1]].content) if place else ""
        turn = _hash(key, f"{said} {context}")
        chain = _hash(key, f"{chain} > {turn}") if chained else ""
        found.append(HumanTurn(index, turn, said, not place, chain))
    return tuple(found[-(MAX_BOUND_RECORDS if chained else MAX_RECORDS) :])


def _hash(key: bytes, text: str) -> str:
    return blake2b(text.strip().encode("utf-8", "surrogatepass"), digest_size=16, key=key[:64]).hexdigest()
