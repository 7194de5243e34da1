"""Extractors: what events say of entities: the names in any text, and the events of support and research agents.

An extractor reads a bounded part of an event. Those of coding agents are in `coding`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from germane.extraction.archetypes.findings import Findings, states
from germane.kinds.events.value import Event
from germane.kinds.events.wording import action_of, content_of, failed, succeeded
from germane.kinds.graph.value import EntityFinding, EntityName, RelationFinding
from germane.text.own_words.own_words import own_words

_HEAD, _TAIL = 24_576, 8_192
"""Characters of a text that are read: its beginning and its end, where errors stand."""
_MAX_LINE = 400
"""Characters of a line that are read."""
_MAX_NAME = 160
"""Characters of a command or an error, as a name."""
_EXECUTED = "Executed: `"
_ERROR = re.compile(
    r"(?:^|[\s:])((?:[\w.]{1,80}\.)?[A-Z]\w{0,60}(?:Error|Exception|Warning|Exit|Interrupt|Timeout)(?:: .{1,300})?)$"
    r"|((?:error|fatal)(?:\[[A-Z]\d{3,5}\])?: .{1,300})$|(error TS\d{3,5}: .{1,300})$"
    r"|(npm (?:ERR!|error) (?:code )?[A-Z][A-Z0-9_]{2,30})$|(.{0,80}: command not found)$|(\bE[A-Z]{4,12}\b.{0,100})"
)
_MARKS = ("Err", "Exc", "Warn", "Exit", "Inter", "Time", "error", "fatal", "ERR", ": command not", "E")
_VARIES = re.compile(r"0x[0-9a-fA-F]{4,16}|\b\d{5,}\b")
"""What differs each time: addresses and long numbers."""


def text_of(event: Event) -> str:
    """Returns the part of the event's text that extractors read: all of it up to 32,768 characters, else its beginning and its
    end."""
    text = event.text
    return text if len(text) <= _HEAD + _TAIL else f"{text[:_HEAD]}\n{text[-_TAIL:]}"


def lines_of(text: str) -> list[str]:
    """Returns the lines of a text, each cut to 400 characters."""
    return [line[:_MAX_LINE].rstrip() for line in text.splitlines()]


def is_failure(event: Event) -> bool:
    """Whether the event is an error, or a command or test that failed."""
    action = action_of(event.type)
    return action == "error" or (action in ("execute", "test") and failed(event.outcome))


def is_success(event: Event) -> bool:
    """Whether the event is a command or a test that succeeded."""
    return action_of(event.type) in ("execute", "test") and succeeded(event.outcome)


def command_of(event: Event) -> str:
    """Returns the command that was executed, on one line, at most 160 characters of it; '' where there is none. A test event
    has one where its content names it."""
    action = action_of(event.type)
    given = None
    if action == "execute":
        head, _, rest = event.text.partition(_EXECUTED)
        given = "" if head else rest[: 4 * _MAX_NAME].partition("`\n")[0].removesuffix("`")
    elif action == "test" and isinstance(content := content_of(event.raw), Mapping):
        given = content.get("command")
    line = " ".join(given[: 4 * _MAX_NAME].split()) if isinstance(given, str) else ""
    return line if len(line) <= _MAX_NAME else f"{line[: _MAX_NAME - 1]}…"


def error_of(event: Event) -> str:
    """Returns the name of the error that an event reports, at most 160 characters on one line; '' where none can be told. Of an
    error event, the first line of its message; of a command or test that failed, the last line that reads as an error.
    Addresses and long numbers become `…`."""
    if not is_failure(event):
        return ""
    lines = lines_of(text_of(event))
    if action_of(event.type) == "error":
        first = lines[0].removeprefix("Error:") if lines else ""
        content = content_of(event.raw)
        kind = content.get("type") or content.get("name") if isinstance(content, Mapping) else None
        named = isinstance(kind, str) and kind.strip() and kind not in first and len(kind) <= 80
        return _name(f"{kind}: {first.strip()}" if named and first.strip() else first)
    return error_in(lines[1:])


def error_in(lines: Sequence[str]) -> str:
    """Returns the name of the last line that reads as an error, at most 160 characters of it; '' where none does. Addresses and
    long numbers become `…`."""
    for line in reversed(lines):
        if any(mark in line for mark in _MARKS) and (match := _ERROR.search(line)):
            return _name(next(group for group in match.groups() if group))
    return ""


def _name(line: str) -> str:
    plain = _VARIES.sub("…", " ".join(line.split()))
    return plain if len(plain) <= _MAX_NAME else f"{plain[: _MAX_NAME - 1]}…"


# Names, for any text: the people, places, files, links and codes that rules find in it, and how they relate.


_MAX_READ = 8_192
"""Characters that are read: the rules take some microseconds for each."""
_MIN_CONFIDENCE = 0.5
"""The confidence below which what the rules found isn't looked at. An entity below 0.7 counts where it is known."""
_YEAR = re.compile(r"(?:19|20)\d\d")


def names(event: Event, before: Sequence[Event]) -> Findings:
    """What the text mentions, with the speaker of a message, and the relations that a user's own sentences state, from when and
    until when they say. A time is its first day, UTC. Relations whose end can't be read are left out; a beginning that can't,
    or that is still to come, counts as the time of the text. Reads the first 8,192 characters."""
    from germane.extraction.entities.entities import extract_entities
    from germane.extraction.entities.relations import extract_relations

    text = text_of(event)[:_MAX_READ]
    found = extract_entities(text, speaker=event.name, role=event.role or "tool")
    user = event.role == "user"
    stated = extract_relations(text, found, speaker=event.name, said=own_words(text)) if user and found else ()
    times = [(one, _begins(one.since, event.created_at), _day(one.until)) for one in stated]
    return Findings(
        entities=tuple(
            EntityFinding(type=one.type, name=one.name, confidence=one.confidence)
            for one in found
            if one.confidence >= _MIN_CONFIDENCE
        ),
        relations=tuple(
            RelationFinding(
                source=EntityName(one.source.type, one.source.name),
                type=one.type,
                target=EntityName(one.target.type, one.target.name),
                confidence=one.confidence,
                valid_from=begins,
                valid_to=ends,
                exclusive=one.exclusive,
            )
            for one, begins, ends in times
            if one.confidence >= _MIN_CONFIDENCE and (ends is not None or not one.until)
        ),
    )


def _begins(words: str, said_at: datetime) -> datetime | None:
    begins = _day(words)
    return begins if begins is not None and begins <= said_at else None


def _day(words: str) -> datetime | None:
    """The first day of a year, a month or a date with its year; None for other words."""
    from germane.extraction.entities.days import date_key

    read = words if _YEAR.fullmatch(words) else date_key(words)
    try:
        year, month, day = (*map(int, (read or "").split("-")), 1, 1)[:3]
        return datetime(year, month, day, tzinfo=UTC)
    except ValueError:
        return None


# Support: customers, tickets, orders and products. Names come from the fields of the content, where the caller says
# what they are; in texts only numbers with a sure form are read.


_MAX_NAMES = 20
_CUSTOMER = ("customer", "client", "account", "customer_name")
_TICKET = ("ticket", "ticket_id", "case", "case_id", "issue")
_ORDER = ("order", "order_id", "order_number", "invoice")
_PRODUCT = ("product", "product_name", "item", "plan", "sku")
_TICKET_TEXT = re.compile(r"\b(?:[A-Z][A-Z0-9]{1,9}-\d{1,7}|(?:[Tt]icket|TICKET|[Cc]ase) ?#?\d{2,10})\b")
_ORDER_TEXT = re.compile(r"\b(?:[Oo]rder|ORDER|[Ii]nvoice|INVOICE) ?(?:no\.? ?|number )?#? ?([A-Z]{0,4}-?\d{3,12})\b")
_LABEL = re.compile(r"(?i:ticket|case) ?#?")


def customers(event: Event, before: Sequence[Event]) -> Findings:
    """The customer of the event, who has its tickets and orders. With an address in `email`, that is an alias."""
    names = _names_or_ids(event, _CUSTOMER)
    email = next(_names_or_ids(event, ("email", "customer_email")), "")
    found = [EntityFinding(type="customer", name=name, aliases=(email,) if email else ()) for name in names]
    if not found and email:
        found = [EntityFinding(type="customer", name=email)]
    theirs = [("ticket", name) for name in _names_or_ids(event, _TICKET)] + [
        ("order", name) for name in _names_or_ids(event, _ORDER)
    ]
    return Findings(
        entities=tuple(found),
        relations=tuple(
            states(EntityName("customer", found[0].name), "has", EntityName(type, name), 0.9)
            for type, name in (theirs if len(found) == 1 else ())
        ),
    )


def tickets(event: Event, before: Sequence[Event]) -> Findings:
    """Tickets by number, with the outcome of the event as their state where it is about one alone."""
    own = list(_names_or_ids(event, _TICKET))
    written = [_LABEL.sub("", match[0]).strip() or match[0] for match in _TICKET_TEXT.finditer(text_of(event))]
    names = list(dict.fromkeys((*own, *written)))[:_MAX_NAMES]
    state = {"state": event.outcome[:40]} if event.outcome and len(names) == 1 else {}
    return Findings(entities=tuple(EntityFinding(type="ticket", name=name, properties=state) for name in names))


def orders(event: Event, before: Sequence[Event]) -> Findings:
    """Orders and invoices by number."""
    own = list(_names_or_ids(event, _ORDER))
    names = list(dict.fromkeys((*own, *(match[1] for match in _ORDER_TEXT.finditer(text_of(event))))))[:_MAX_NAMES]
    return Findings(entities=tuple(EntityFinding(type="order", name=name) for name in names))


def products(event: Event, before: Sequence[Event]) -> Findings:
    """Products that the content names, and what of the event is about them."""
    names = list(_names_or_ids(event, _PRODUCT))[:_MAX_NAMES]
    about = [("ticket", name) for name in _names_or_ids(event, _TICKET)] + [
        ("order", name) for name in _names_or_ids(event, _ORDER)
    ]
    return Findings(
        entities=tuple(EntityFinding(type="product", name=name) for name in names),
        relations=tuple(
            states(EntityName(*one), "concerns", EntityName("product", name), 0.8) for name in names for one in about
        ),
    )


def _names_or_ids(event: Event, fields: Sequence[str]) -> Iterator[str]:
    """The names in these fields of the content: strings, numbers, lists of them, and dicts with a `name` or `id`."""
    content = content_of(event.raw)
    for field in fields if isinstance(content, Mapping) else ():
        for one in _each_name_or_id(content.get(field)):
            plain = " ".join(one[:1_000].split())
            if 0 < len(plain) <= 256:
                yield plain


def _each_name_or_id(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        value = value.get("name") or value.get("id")
    if isinstance(value, str):
        yield value
    elif isinstance(value, int) and not isinstance(value, bool):
        yield str(value)
    elif isinstance(value, list):
        for one in value[:_MAX_NAMES]:
            yield from _each_name_or_id(one) if not isinstance(one, list) else ()


# Research: sources, their authors, claims and topics. Sources are what a content names as one, and links and DOIs in
# texts. Claims are only those that the content states as such.


_LINK = re.compile(r"https?://[^\s<>\"'`)\]}]{4,240}")
_DOI = re.compile(r"\b10\.\d{4,9}/[^\s<>\"'`)\]}]{2,120}")
_SOURCE = ("source", "sources", "url", "doi", "paper", "document", "title")
_AUTHOR = ("author", "authors", "by")
_CLAIM = ("claim", "claims", "finding", "findings")
_TOPIC = ("topic", "topics", "keywords", "tags")
_ENDS = ".,;:!?"


def sources(event: Event, before: Sequence[Event]) -> Findings:
    """What the content names as its source, and the links and DOIs of the text."""
    own = _titles_or_names(event, _SOURCE)
    text = text_of(event)
    written = [match[0].rstrip(_ENDS) for rule in (_LINK, _DOI) for match in rule.finditer(text)]
    linked = [one for one in written if not any(one != other and one in other for other in written[:_MAX_NAMES])]
    names = list(dict.fromkeys((*own, *linked)))[:_MAX_NAMES]
    return Findings(entities=tuple(EntityFinding(type="source", name=name) for name in names))


def authors(event: Event, before: Sequence[Event]) -> Findings:
    """The authors that the content names, each of the source that it is about."""
    names, about = _titles_or_names(event, _AUTHOR), _titles_or_names(event, _SOURCE)[:1]
    return Findings(
        entities=tuple(EntityFinding(type="person", name=name) for name in names),
        relations=tuple(
            states(EntityName("person", name), "wrote", EntityName("source", one), 0.9) for name in names for one in about
        ),
    )


def claims(event: Event, before: Sequence[Event]) -> Findings:
    """The claims that the content states, each of at most 256 characters, with the source that makes them."""
    names, about = _titles_or_names(event, _CLAIM), _titles_or_names(event, _SOURCE)[:1]
    return Findings(
        entities=tuple(EntityFinding(type="claim", name=name) for name in names),
        relations=tuple(
            states(EntityName("source", one), "claims", EntityName("claim", name), 0.8) for name in names for one in about
        ),
    )


def topics(event: Event, before: Sequence[Event]) -> Findings:
    """The topics that the content names, each of the source that it is about."""
    names, about = _titles_or_names(event, _TOPIC), _titles_or_names(event, _SOURCE)[:1]
    return Findings(
        entities=tuple(EntityFinding(type="topic", name=name) for name in names),
        relations=tuple(
            states(EntityName("source", one), "about", EntityName("topic", name), 0.8) for name in names for one in about
        ),
    )


def _titles_or_names(event: Event, fields: Sequence[str]) -> list[str]:
    """The names in these fields of the content, each once: strings, lists of them, and dicts with a `title`, `name` or
    `url`."""
    content = content_of(event.raw)
    if not isinstance(content, Mapping):
        return []
    given = (one for field in fields for one in _each_title_or_name(content.get(field)))
    plain = (" ".join(one[:1_000].split()) for one in given)
    return list(dict.fromkeys(one for one in plain if 0 < len(one) <= 256))[:_MAX_NAMES]


def _each_title_or_name(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        value = value.get("title") or value.get("name") or value.get("url")
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for one in value[:_MAX_NAMES]:
            yield from _each_title_or_name(one) if not isinstance(one, list) else ()
