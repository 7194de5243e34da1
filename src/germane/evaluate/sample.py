"""Sample: picks fewer questions or conversations, evenly spread and the same ones in each run."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TypeVar

from germane.errors import InvalidInput
from germane.evaluate.dataset import Dataset, Question

__all__ = ["select_questions", "spread_evenly"]

T = TypeVar("T")


def spread_evenly(found: Sequence[T], limit: int) -> list[T]:
    """At most `limit` entries at even distances, in their order."""
    if len(found) <= limit:
        return list(found)
    return [found[index * len(found) // limit] for index in range(limit)]


def select_questions(dataset: Dataset, *, limit: int | None = None, categories: Collection[str] | None = None) -> Dataset:
    """The data set with only the questions of these categories, and at most `limit` of them, spread evenly over the
    conversations; conversations without a question are left out. Raises `InvalidInput` for an unknown category, and where no
    question is left."""
    known = sorted({question.category for conversation in dataset.conversations for question in conversation.questions})
    if strangers := sorted(set(categories or ()) - set(known)):
        listed = ", ".join(filter(None, known)) or "none"
        raise InvalidInput(f"{dataset.name} has no questions of category {strangers[0]!r}: its categories are {listed}")
    asked = [
        (index, question)
        for index, conversation in enumerate(dataset.conversations)
        for question in conversation.questions
        if categories is None or question.category in categories
    ]
    if limit is not None:
        asked = spread_evenly(asked, limit)
    if not asked:
        raise InvalidInput(f"{dataset.name} has no question to ask")
    kept: dict[int, list[Question]] = {}
    for index, question in asked:
        kept.setdefault(index, []).append(question)
    chosen = tuple(replace(dataset.conversations[index], questions=questions) for index, questions in kept.items())
    return replace(dataset, conversations=chosen)
