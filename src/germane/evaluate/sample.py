"""Sample: fewer questions or conversations, spread evenly, the same ones each time."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TypeVar

from germane.errors import InvalidInput
from germane.evaluate.dataset import Dataset, Question

__all__ = ["narrowed", "spread"]

T = TypeVar("T")


def spread(found: Sequence[T], most: int) -> list[T]:
    """`most` of them at even distances, in their order."""
    if len(found) <= most:
        return list(found)
    return [found[place * len(found) // most] for place in range(most)]


def narrowed(dataset: Dataset, *, limit: int | None = None, categories: Collection[str] | None = None) -> Dataset:
    """Only questions of these categories, at most `limit` of them, from all conversations evenly; conversations without any
    left out. Raises `InvalidInput` where nothing is left."""
    known = sorted({question.category for conversation in dataset.conversations for question in conversation.questions})
    if strangers := sorted(set(categories or ()) - set(known)):
        listed = ", ".join(filter(None, known)) or "none"
        raise InvalidInput(f"{dataset.name} has no questions of category {strangers[0]!r}: its categories are {listed}")
    asked = [
        (place, question)
        for place, conversation in enumerate(dataset.conversations)
        for question in conversation.questions
        if categories is None or question.category in categories
    ]
    if limit is not None:
        asked = spread(asked, limit)
    if not asked:
        raise InvalidInput(f"{dataset.name} has no question to ask")
    kept: dict[int, list[Question]] = {}
    for place, question in asked:
        kept.setdefault(place, []).append(question)
    chosen = tuple(replace(dataset.conversations[place], questions=questions) for place, questions in kept.items())
    return replace(dataset, conversations=chosen)
