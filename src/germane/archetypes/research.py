"""Research: what the events of a research agent say: sources, their authors, claims and topics.

Sources are what a content names as one, and links and DOIs in texts. Claims are only those that the content states as such.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from germane.archetypes.findings import Findings, states
from germane.archetypes.reading import text_of
from germane.events.event import Event
from germane.events.wording import content_of
from germane.graph.findings import EntityFinding, EntityName

__all__ = ["authors", "claims", "sources", "topics"]

_MOST = 20
_LINK = re.compile(r"https?://[^\s<>\"'`)\]}]{4,240}")
_DOI = re.compile(r"\b10\.\d{4,9}/[^\s<>\"'`)\]}]{2,120}")
_SOURCE = ("source", "sources", "url", "doi", "paper", "document", "title")
_AUTHOR = ("author", "authors", "by")
_CLAIM = ("claim", "claims", "finding", "findings")
_TOPIC = ("topic", "topics", "keywords", "tags")
_ENDS = ".,;:!?"


def sources(event: Event, before: Sequence[Event]) -> Findings:
    """What the content names as its source, and the links and DOIs of the text."""
    own = _named(event, _SOURCE)
    text = text_of(event)
    written = [match[0].rstrip(_ENDS) for rule in (_LINK, _DOI) for match in rule.finditer(text)]
    linked = [one for one in written if not any(one != other and one in other for other in written[:_MOST])]
    names = list(dict.fromkeys((*own, *linked)))[:_MOST]
    return Findings(entities=tuple(EntityFinding(type="source", name=name) for name in names))


def authors(event: Event, before: Sequence[Event]) -> Findings:
    """The authors that the content names, each of the source that it is about."""
    names, about = _named(event, _AUTHOR), _named(event, _SOURCE)[:1]
    return Findings(
        entities=tuple(EntityFinding(type="person", name=name) for name in names),
        relations=tuple(
            states(EntityName("person", name), "wrote", EntityName("source", one), 0.9) for name in names for one in about
        ),
    )


def claims(event: Event, before: Sequence[Event]) -> Findings:
    """The claims that the content states, each of at most 256 characters, with the source that makes them."""
    names, about = _named(event, _CLAIM), _named(event, _SOURCE)[:1]
    return Findings(
        entities=tuple(EntityFinding(type="claim", name=name) for name in names),
        relations=tuple(
            states(EntityName("source", one), "claims", EntityName("claim", name), 0.8) for name in names for one in about
        ),
    )


def topics(event: Event, before: Sequence[Event]) -> Findings:
    """The topics that the content names, each of the source that it is about."""
    names, about = _named(event, _TOPIC), _named(event, _SOURCE)[:1]
    return Findings(
        entities=tuple(EntityFinding(type="topic", name=name) for name in names),
        relations=tuple(
            states(EntityName("source", one), "about", EntityName("topic", name), 0.8) for name in names for one in about
        ),
    )


def _named(event: Event, fields: Sequence[str]) -> list[str]:
    """The names in these fields of the content, each once: strings, lists of them, and dicts with a `title`, `name` or
    `url`."""
    content = content_of(event.raw)
    if not isinstance(content, Mapping):
        return []
    given = (one for field in fields for one in _each(content.get(field)))
    plain = (" ".join(one[:1_000].split()) for one in given)
    return list(dict.fromkeys(one for one in plain if 0 < len(one) <= 256))[:_MOST]


def _each(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        value = value.get("title") or value.get("name") or value.get("url")
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for one in value[:_MOST]:
            yield from _each(one) if not isinstance(one, list) else ()
