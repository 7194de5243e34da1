"""Small talk: short labelled conversations whose evidence is easy to find, and evaluation results made by hand."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from germane.types.candidate import Breakdown, Chosen, Provenance, Scored
from germane.types.message import Message
from germane_eval.answers import Answered, Shown
from germane_eval.dataset import Conversation, Dataset, Question
from germane_testing.builders import candidate

__all__ = ["BEGAN", "answered", "chat", "chosen", "dataset", "scored", "shown"]

BEGAN = datetime(2024, 5, 1, 9, tzinfo=UTC)

_FACTS = [
    ("My greyhound is called Biscuit.", "What is the greyhound called?", "Biscuit", "pets"),
    ("The boat is moored in Trieste.", "Where is the boat moored?", "Trieste", "places"),
    ("I sold the piano to Marguerite.", "Who bought the piano?", "Marguerite", "people"),
]


def chat(name: str = "one", *, sessions: int = 3, each: int = 8, assisted: bool = True) -> Conversation:
    """A conversation in which each session begins with a fact and goes on with irrelevant messages."""
    said: dict[str, list[Message]] = {}
    for session in range(sessions):
        texts = [_FACTS[session % 3][0], *(f"Entry {session}-{place} of the log: all quiet." for place in range(1, each))]
        said[f"s{session}"] = [
            Message.of(
                "assistant" if assisted and place % 2 else "user",
                text,
                id=f"m{session}-{place}",
                created_at=BEGAN + timedelta(days=session, minutes=place),
            )
            for place, text in enumerate(texts)
        ]
    questions = [
        Question(id=f"{name}/q{number}", text=asked, evidence=frozenset([f"m{number}-0"]), category=category, answer=answer)
        for number, (_, asked, answer, category) in enumerate(_FACTS[:sessions])
    ]
    return Conversation(name=name, sessions=said, questions=questions)


def dataset(*conversations: Conversation) -> Dataset:
    return Dataset(name="talks", format="requests", conversations=conversations or (chat(),))


def scored(id: str, rank: int, *, message: str | None = None) -> Scored:
    parts = Breakdown(relevance=0.5, recency=0.5, usefulness=0.5, confidence=0.5, frequency=0.0)
    made = candidate(id, id=id, provenance=Provenance(message_id=message or id))
    return Scored(candidate=made, score=0.5, log_odds=-float(rank), breakdown=parts, rank=rank)


def chosen(id: str, share: float = 1.0, *, message: str | None = None) -> Chosen:
    return Chosen(scored=scored(id, 1, message=message), text=id, tokens=1, share=share)


def shown(budget: int, *shares: float, **fields: object) -> Shown:
    return Shown(budget=budget, tokens=budget - 1, items=len(shares), shares=shares, **fields)  # type: ignore[arg-type]


def answered(
    id: str,
    *shares: float,
    conversation: str = "one",
    category: str = "",
    clock: str = "end+1h",
    budgets: tuple[int, ...] = (500, 1000),
    ranks: tuple[int | None, ...] = (1,),
) -> Answered:
    """A result with the same shares within each budget."""
    return Answered(
        conversation=conversation,
        id=id,
        question=f"What of {id}?",
        category=category,
        clock=clock,
        ranks=ranks,
        shown=tuple(shown(budget, *shares) for budget in budgets),
    )
