"""Fault: one reason for which a provider's API would refuse a request, under a rule's name that stays the same."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

__all__ = ["RULES", "Fault"]


@dataclass(frozen=True, slots=True)
class Fault:
    """`rule` is a key of `RULES`. `index` is that of the message (turn, item); None where the fault is the whole request's.
    `text` is a sentence for a person; it names the message."""

    rule: str
    index: int | None
    text: str


RULES: Mapping[str, str] = MappingProxyType(
    {
        "arguments": "A call's arguments and a result are of the type that the API takes.",
        "cache-marks": "A request has at most four cache marks.",
        "call-id": "A call's id is of the form and length that the API takes, and a result names one that there is.",
        "call-name": "A tool's name is of the form that the API takes.",
        "call-place": "Only the model's messages hold calls.",
        "call-without-result": "Each call is followed by its result where the API looks for it; parallel calls by all.",
        "content-type": "Content is text or a list of parts.",
        "duplicate-call-id": "No two calls have one id.",
        "duplicate-item-id": "No two items have one id.",
        "empty-text": "No text is empty.",
        "first-turn": "The user speaks first.",
        "item-field": "An item has the fields that its type demands.",
        "item-type": "An item has a type or a role.",
        "key": "A message has no keys but those of the API.",
        "name": "A speaker's name is of the form that the API takes.",
        "no-calls": "A list of calls isn't empty.",
        "no-content": "A message has content.",
        "no-messages": "There is a message.",
        "part-shape": "A part has the fields that its type demands.",
        "part-type": "A part is of a type that may stand in a message of this role.",
        "reasoning-alone": "Reasoning is followed by what came of it.",
        "result-order": "Results stand before all other parts of their message.",
        "result-without-call": "Each result stands behind its call.",
        "role": "A message has a role that the API knows.",
        "server-pair": "A call of the provider's own tools has its result in the same turn, unless the last turn is paused.",
        "signature-missing": "In the current turn each step's first call has its signature.",
        "system-empty": "The system prompt isn't empty.",
        "system-part": "A system prompt or message holds text only.",
        "system-place": "A system message stands where the API takes it.",
        "thinking-last": "The assistant's turn doesn't end in thinking.",
        "trailing-space": "The assistant's last words don't end in white space.",
    }
)
"""All rules, by name, as a sentence that a valid request fulfils. Each API has some of them."""
