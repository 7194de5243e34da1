"""Merge: one candidate an id, with the best evidence of each kind that any source has for it (GATHER-3), and none that the
request holds already (GATHER-2a) or its filters exclude (GATHER-4)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from germane.evidence import FEATURES, Evidence
from germane.item import Candidate
from germane.message import Message
from germane.query import Filters
from germane.text.normal import content_hash

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
    spoken = any(one.category == "conversation" for one in candidates)
    hashes = {content_hash(message.role, message.content) for message in messages if message.content} if spoken else set()

    def here(one: Candidate) -> bool:
        return session is None or one.session in (None, session)

    return tuple(
        one
        for one in candidates
        if not (
            one.id in filters.exclude
            or one.provenance.message_id in filters.exclude
            or (
                one.category == "conversation"
                and (one.content_hash in hashes or (here(one) and one.provenance.message_id in said))
            )
        )
    )


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
    )


def _best(one: Evidence, two: Evidence) -> Evidence:
    """Feature by feature: a source that didn't look at something says nothing about it. A searching source's account of the
    unit itself (its length, whether it asks) stands as a whole: they are zero in the others."""
    values = {}
    for name in FEATURES:
        a, b = getattr(one, name), getattr(two, name)
        values[name] = b if a is None or (b is not None and (abs(b), b) > (abs(a), a)) else a
    return Evidence(**values)
