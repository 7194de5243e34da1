"""Merge: one candidate per id, with the best evidence of all sources, without what the request contains.

Requirements: GATHER-3 (merging), GATHER-2a (what the request contains), GATHER-4 (ids that the filters exclude).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

from germane.dialects.opaque import kept_text
from germane.text.normal import content_hash
from germane.text.secrets.detection import MARKER
from germane.types.candidate import LONG_TEXT, SENSITIVITIES, Candidate, GraphItem, PassageRange
from germane.types.evidence import FEATURES, Evidence
from germane.types.message import Message
from germane.types.query import Filters
from germane.types.request import Request


def merge(candidates: Iterable[Candidate]) -> tuple[Candidate, ...]:
    """Merges candidates of the same id, in an order that doesn't depend on which source finished first (ENGINE-8). Of two
    sensitivities the more restricted one holds."""
    found: dict[str, Candidate] = {}
    for candidate in sorted(candidates, key=lambda candidate: (candidate.id, not candidate.required, candidate.source)):
        other = found.get(candidate.id)
        found[candidate.id] = candidate if other is None else _merged(other, candidate)
    return tuple(found.values())


class RequestContents:
    """What the request's own messages hold, to compare stored ones with. Computed once, when it is first asked for."""

    def __init__(self, messages: Sequence[Message]) -> None:
        self._messages = messages

    @cached_property
    def ids(self) -> frozenset[str]:
        return frozenset(message.id for message in self._messages if message.id is not None)

    @cached_property
    def contents(self) -> list[tuple[str, str]]:
        """Role and content of each message that has one."""
        return [(message.role, content) for message in self._messages if (content := message.content)]

    @cached_property
    def kept(self) -> list[tuple[str, str]]:
        """Role and text of each message as it would be stored."""
        return [(message.role, text) for message in self._messages if (text := kept_text(message))]

    @cached_property
    def spoken(self) -> list[str]:
        """The user's texts that aren't long, with single spaces between their words."""
        return [" ".join(content.split()) for role, content in self.contents if role == "user" and len(content) <= LONG_TEXT]

    @cached_property
    def hashes(self) -> frozenset[int]:
        """Of the contents that aren't long."""
        return frozenset(content_hash(role, content) for role, content in self.contents if len(content) <= LONG_TEXT)


def distinct(candidates: Iterable[Candidate], request: Request, said: RequestContents) -> tuple[Candidate, ...]:
    """Each candidate once, without those that the request holds already."""
    return fresh(merge(candidates), said, request.filters, session=request.scope.session)


def fresh(
    candidates: Sequence[Candidate], said: RequestContents, filters: Filters, *, session: str | None = None
) -> tuple[Candidate, ...]:
    """The candidates without those that the request's own messages already contain, and without those whose ids the
    filters exclude. Message ids are the caller's own and may repeat in another session: where the request's `session` is
    known, the same id in another session is a different message."""
    talk = [candidate for candidate in candidates if candidate.category == "conversation"]
    repeated = _repeated(talk, said) if talk else frozenset()

    def contained(candidate: Candidate) -> bool:
        if candidate.category != "conversation":
            return _is_of_request(candidate, said, session)
        here = session is None or candidate.session in (None, session)
        return candidate.id in repeated or (here and candidate.provenance.message_id in said.ids)

    return tuple(
        candidate
        for candidate in candidates
        if candidate.id not in filters.exclude
        and candidate.provenance.message_id not in filters.exclude
        and not contained(candidate)
    )


def _is_of_request(memory: Candidate, said: RequestContents, session: str | None) -> bool:
    """Whether the memory was extracted from a message that the request holds, or a line of the profile is a clause of one."""
    origin = memory.provenance
    if "extracted" not in origin.metadata:
        return memory.line is not None and _is_said(memory, said, session)
    here = session is None or origin.session in (None, session)
    return (here and origin.message_id in said.ids) or origin.metadata.get("message_hash") in said.hashes


def _is_said(line: Candidate, said: RequestContents, session: str | None) -> bool:
    """Whether the request holds the message of a clause: by its id, or as the message's words stand in one of the same
    session."""
    origin = line.provenance
    if origin.message_id is None and origin.session is None:
        return False
    here = session is None or origin.session in (None, session)
    return here and (origin.message_id in said.ids or any(line.text in content for content in said.spoken))


def _repeated(talk: Sequence[Candidate], said: RequestContents) -> frozenset[str]:
    """Ids of the stored messages that the request repeats word for word. Short texts are compared by hash. Of a long text only
    a passage is loaded: it must stand at the same place in the request's message, so that no long message is hashed."""
    long = [pair for pair in said.kept if len(pair[1]) > _MIN_LONG] if any(stored.passage for stored in talk) else []

    def repeated(stored: Candidate) -> bool:
        if stored.passage is None:
            return stored.content_hash in said.hashes
        return any(_repeats(stored, stored.passage, *pair) for pair in long)

    return frozenset(stored.id for stored in talk if repeated(stored))


def _repeats(stored: Candidate, passage: PassageRange, role: str, content: str) -> bool:
    """Whether a message of the request is the long message that `stored` is a passage of, as far as the passage tells. Of a
    message that was redacted when it was stored, the size as sent is known, and what stands between the markers."""
    given_bytes = stored.provenance.metadata.get("given_bytes")
    if given_bytes is not None and stored.role == role:
        kept = max(_MARKER.split(stored.text.strip("…")), key=len)
        return len(content) <= given_bytes and len(content.encode("utf-8", "surrogatepass")) == given_bytes and kept in content
    if stored.role != role or not len(content) <= passage.size <= 4 * len(content):
        return False
    data = content.encode("utf-8", "surrogatepass")
    return len(data) == passage.size and data[passage.start : passage.end].decode("utf-8", "replace") in stored.text


_MARKER = re.compile(re.escape(MARKER) + r"[^\]\n]{0,64}\]?")
_MIN_LONG = LONG_TEXT // 4
"""Characters: a shorter text is never a long one, as a character has at most four bytes of UTF-8."""


def _merged(first: Candidate, second: Candidate) -> Candidate:
    sources = dict.fromkeys((*first.also, second.source, *second.also))
    sources.pop(first.source, None)
    return first._replace(
        evidence=_best(first.evidence, second.evidence),
        required=first.required or second.required,
        sensitivity=max(first.sensitivity, second.sensitivity, key=SENSITIVITIES.index),
        also=tuple(sources),
        graph=_surer(first.graph, second.graph),
        line=first.line or second.line,
        **_text(first, second),
    )


def _surer(one: GraphItem | None, other: GraphItem | None) -> GraphItem | None:
    """Of what two sources say of the same thing of the graph, that with the higher prior."""
    return max((item for item in (one, other) if item is not None), key=lambda item: item.prior, default=None)


def _text(first: Candidate, second: Candidate) -> dict[str, Any]:
    """Of two passages of the same long text, the one that was searched for."""
    better = second.passage is not None and first.passage is not None and second.passage.found > first.passage.found
    return {"text": second.text, "passage": second.passage} if better else {}


def _best(first: Evidence, second: Evidence) -> Evidence:
    """The stronger evidence, feature by feature; None means that a source didn't look at a feature. Features of the text itself
    (its length, whether it asks) come from the source that searched, as they are 0 in the others."""
    values = {}
    for name in FEATURES:
        a, b = getattr(first, name), getattr(second, name)
        values[name] = b if a is None or (b is not None and (abs(b), b) > (abs(a), a)) else a
    return Evidence(**values)
