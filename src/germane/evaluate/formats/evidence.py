"""Evidence: turns the evidence labels of a question, as the data sets write them, into ids of existing messages."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Any

__all__ = ["dialogue_ids", "flat", "known_ids", "plain"]

_DIALOGUE = re.compile(r"D:?(\d{1,9}):(\d{1,9})")


def dialogue_ids(label: Any) -> list[str]:
    """The ids in a dialogue's label such as `D8:6`; empty where it has none. Several ids in one string are split
    (`D8:6; D9:17`); a stray colon (`D:11:26`) and leading zeros (`D30:05`) are repaired."""
    return [f"D{int(session)}:{int(turn)}" for session, turn in _DIALOGUE.findall(str(label))]


def plain(label: Any) -> list[str]:
    """The label itself as its only id."""
    return [str(label)]


def flat(labels: Any) -> Iterator[Any]:
    """Yields the labels of arbitrarily nested lists and mappings, in their order."""
    waiting = [labels]
    while waiting:
        label = waiting.pop()
        inner = label.values() if isinstance(label, Mapping) else label
        if isinstance(inner, Iterable) and not isinstance(inner, str):
            waiting += [*inner][::-1]
        elif label is not None:
            yield label


def known_ids(
    labels: Any,
    known: Collection[str],
    shared: Collection[str] = (),
    read: Callable[[Any], Iterable[str]] = plain,
    noun: str = "evidence",
) -> tuple[frozenset[str], list[str]]:
    """Returns the labelled ids that are `known`, and a sentence for each label that isn't used. An id `shared` by several
    messages is ambiguous and isn't used. `read` parses one label into ids; `noun` names the labels in the sentences."""
    found: set[str] = set()
    lost = []
    for label in flat(labels):
        ids = list(read(label))
        if not ids:
            lost.append(f"{noun} {label!r} is no message's id: left out")
        for id in ids:
            if id in shared:
                lost.append(f"{noun} {id} is the id of several messages: left out")
            elif id not in known:
                lost.append(f"{noun} {id} names no message: left out")
            else:
                found.add(id)
    return frozenset(found), lost
