"""Support: what the events of a support agent say: customers, tickets, orders and products.

Names come from the fields of the content, where whoever records them says what they are; in texts only numbers with a sure form
are read.
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

__all__ = ["customers", "orders", "products", "tickets"]

_MOST = 20
_CUSTOMER = ("customer", "client", "account", "customer_name")
_TICKET = ("ticket", "ticket_id", "case", "case_id", "issue")
_ORDER = ("order", "order_id", "order_number", "invoice")
_PRODUCT = ("product", "product_name", "item", "plan", "sku")
_TICKET_TEXT = re.compile(r"\b(?:[A-Z][A-Z0-9]{1,9}-\d{1,7}|(?:[Tt]icket|TICKET|[Cc]ase) ?#?\d{2,10})\b")
_ORDER_TEXT = re.compile(r"\b(?:[Oo]rder|ORDER|[Ii]nvoice|INVOICE) ?(?:no\.? ?|number )?#? ?([A-Z]{0,4}-?\d{3,12})\b")
_LABEL = re.compile(r"(?i:ticket|case) ?#?")


def customers(event: Event, before: Sequence[Event]) -> Findings:
    """The customer of the event, who has its tickets and orders. With an address in `email`, that is an alias."""
    names = _named(event, _CUSTOMER)
    email = next(_named(event, ("email", "customer_email")), "")
    found = [EntityFinding(type="customer", name=name, aliases=(email,) if email else ()) for name in names]
    if not found and email:
        found = [EntityFinding(type="customer", name=email)]
    theirs = [("ticket", name) for name in _named(event, _TICKET)] + [("order", name) for name in _named(event, _ORDER)]
    return Findings(
        entities=tuple(found),
        relations=tuple(
            states(EntityName("customer", found[0].name), "has", EntityName(type, name), 0.9)
            for type, name in (theirs if len(found) == 1 else ())
        ),
    )


def tickets(event: Event, before: Sequence[Event]) -> Findings:
    """Tickets by number, with the outcome of the event as their state where it is about one alone."""
    own = list(_named(event, _TICKET))
    written = [_LABEL.sub("", match[0]).strip() or match[0] for match in _TICKET_TEXT.finditer(text_of(event))]
    names = list(dict.fromkeys((*own, *written)))[:_MOST]
    state = {"state": event.outcome[:40]} if event.outcome and len(names) == 1 else {}
    return Findings(entities=tuple(EntityFinding(type="ticket", name=name, properties=state) for name in names))


def orders(event: Event, before: Sequence[Event]) -> Findings:
    """Orders and invoices by number."""
    own = list(_named(event, _ORDER))
    names = list(dict.fromkeys((*own, *(match[1] for match in _ORDER_TEXT.finditer(text_of(event))))))[:_MOST]
    return Findings(entities=tuple(EntityFinding(type="order", name=name) for name in names))


def products(event: Event, before: Sequence[Event]) -> Findings:
    """Products that the content names, and what of the event is about them."""
    names = list(_named(event, _PRODUCT))[:_MOST]
    about = [("ticket", name) for name in _named(event, _TICKET)] + [("order", name) for name in _named(event, _ORDER)]
    return Findings(
        entities=tuple(EntityFinding(type="product", name=name) for name in names),
        relations=tuple(
            states(EntityName(*one), "concerns", EntityName("product", name), 0.8) for name in names for one in about
        ),
    )


def _named(event: Event, fields: Sequence[str]) -> Iterator[str]:
    """The names in these fields of the content: strings, numbers, lists of them, and dicts with a `name` or `id`."""
    content = content_of(event.raw)
    for field in fields if isinstance(content, Mapping) else ():
        for one in _each(content.get(field)):
            plain = " ".join(one[:1_000].split())
            if 0 < len(plain) <= 256:
                yield plain


def _each(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        value = value.get("name") or value.get("id")
    if isinstance(value, str):
        yield value
    elif isinstance(value, int) and not isinstance(value, bool):
        yield str(value)
    elif isinstance(value, list):
        for one in value[:_MOST]:
            yield from _each(one) if not isinstance(one, list) else ()
