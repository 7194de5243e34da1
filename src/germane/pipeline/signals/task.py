"""Task: lets the goal of the current task join the query (TASK-2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from germane.pipeline.signals.identifiers import identifiers
from germane.pipeline.signals.keywords import keywords
from germane.types.message import Message
from germane.types.query import Query

__all__ = ["with_goal"]

_MAX_TERMS = 8
"""Terms of the goal that join the query's own."""
_FEW = 12
"""Words up to which a question says so little of what it is about that the goal joins its text."""
_MAX_GOAL = 600
"""Characters of the goal that are looked at."""


def with_goal(query: Query, goal: str, messages: Sequence[Message]) -> Query:
    """The query with the goal's terms, as borrowed ones, and its identifiers. The goal also joins the text, from which the
    vector is made, where the question is short, and while tools run, as the question is an old one then."""
    goal = goal[:_MAX_GOAL].encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    known = {term.word for term in query.terms}
    new = [term for term in keywords(goal) if term.word not in known][:_MAX_TERMS]
    named = tuple(dict.fromkeys((*query.identifiers, *identifiers(goal))))
    working = bool(messages) and messages[-1].role != "user"
    text = f"{query.text}\n{goal}".strip() if working or query.words <= _FEW else query.text
    return replace(query, text=text, terms=(*query.terms, *new), borrowed=query.borrowed + len(new), identifiers=named)
