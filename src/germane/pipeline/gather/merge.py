"""Merge: one candidate an id, with the best evidence of each kind that any source has for it (GATHER-3), and none that the
request holds already (GATHER-2a) or its filters exclude (GATHER-4)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

from germane.text.normal import content_hash
from germane.types.candidate import LONG, Candidate, PassageRange
from germane.types.evidence import FEATURES, Evidence
from germane.types.message import Message
from germane.types.query import Filters

__all__ = ["fresh", "merge"]


def merge(candidates: Iterable[Candidate]) -> tuple[Candidate, ...]:
    """In a fixed order, whatever order the sources finished in (ENGINE-8). Of two finds of one thing the more restricted
    sensitivity holds."""
    found: dict[str, Candidate] = {}
    for one in sorted(candidates, key=lambda one: (one.id, not one.required, one.source)):
        other = found.get(one.id)
        found[one.id] = one if other is None else _both(other, one)
    return tuple(found.values())


def fresh(
    candidates: Sequence[Candidate], messages: Sequence[Message], filters: Filters, *, session: str | None = None
) -> tuple[Candidate, ...]:
    """Without what the request says itself, and without what its filters exclude by id. A message's id is the caller's own
    and may come again in another session: where the request's `session` is known, an id of another one is another message."""
    said = {message.id for message in messages if message.id is not None}
    talk = [one for one in candidates if one.category == "conversation"]
    repeated = _repeated(talk, messages) if talk else frozenset()

    def here(one: Candidate) -> bool:
        return session is None or one.session in (None, session)

    return tuple(
        one
        for one in candidates
        if not (
            one.id in filters.exclude
            or one.provenance.message_id in filters.exclude
            or (one.category == "conversation" and (one.id in repeated or (here(one) and one.provenance.message_id in said)))
        )
    )


def _repeated(talk: Sequence[Candidate], messages: Sequence[Message]) -> frozenset[str]:
    """Ids of those that the request says in the same words. A short text is compared by its hash. Of a long one only a passage
    is at hand: it must stand in the request where it stood in the text. No long message is hashed."""
    contents = [(message.role, content) for message in messages if (content := message.content)]
    hashes = {content_hash(role, content) for role, content in contents if len(content) <= LONG}
    long = [one for one in contents if len(one[1]) > _SHORTEST_LONG] if any(one.passage for one in talk) else []
    return frozenset(
        one.id
        for one in talk
        if (one.content_hash in hashes if one.passage is None else any(_same(one, one.passage, *each) for each in long))
    )


def _same(one: Candidate, whole: PassageRange, role: str, content: str) -> bool:
    if one.role != role or not len(content) <= whole.size <= 4 * len(content):
        return False
    data = content.encode("utf-8", "surrogatepass")
    return len(data) == whole.size and data[whole.start : whole.end].decode("utf-8", "replace") in one.text


_SHORTEST_LONG = LONG // 4
"""Characters that may be more bytes than that."""
_STRICTNESS = ("public", "private", "sensitive")


def _both(one: Candidate, two: Candidate) -> Candidate:
    sources = dict.fromkeys((*one.also, two.source, *two.also))
    sources.pop(one.source, None)
    return replace(
        one,
        evidence=_best(one.evidence, two.evidence),
        required=one.required or two.required,
        sensitivity=max(one.sensitivity, two.sensitivity, key=_STRICTNESS.index),
        also=tuple(sources),
        **_text(one, two),
    )


def _text(one: Candidate, two: Candidate) -> dict[str, Any]:
    """Of two passages of a long text the one with more of the query's words."""
    better = two.passage is not None and one.passage is not None and two.passage.matches > one.passage.matches
    return {"text": two.text, "passage": two.passage} if better else {}


def _best(one: Evidence, two: Evidence) -> Evidence:
    """Feature by feature: a source that didn't look at something says nothing about it. A searching source's account of the
    unit itself (its length, whether it asks) stands as a whole: they are zero in the others."""
    values = {}
    for name in FEATURES:
        a, b = getattr(one, name), getattr(two, name)
        values[name] = b if a is None or (b is not None and (abs(b), b) > (abs(a), a)) else a
    return Evidence(**values)
