"""Rendering: chosen items, and an opened format to render them with, for the tests of formats."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo
from functools import cache
from typing import Any

from germane.models.tokenizers import open_tokenizer
from germane.ports.models import Tokenizer
from germane.stages.gather.builtin import RECENT
from germane.stages.write.formats import open_format
from germane.stages.write.layout import Format
from germane.types.candidate import Breakdown, Candidate, Chosen, Scored
from germane.types.strategy import Detail
from germane_testing.builders import candidate

__all__ = ["NONCE", "chosen", "cost_alone", "o200k", "opened"]

NONCE = "qhzvkdtwmbxr"


@cache
def o200k() -> Tokenizer:
    return open_tokenizer("o200k")


def chosen(text: str, score: float = 0.5, **fields: Any) -> Chosen:
    """A chosen item of a conversation on 8 May 2023; `fields` are fields of its candidate."""
    defaults: dict[str, Any] = {"created_at": datetime(2023, 5, 8, 13, 56, tzinfo=UTC), "speaker": "Caroline"}
    return whole(candidate(text, **(defaults | fields)), score)


def whole(item: Candidate, score: float = 0.5) -> Chosen:
    parts = Breakdown(relevance=score, recency=0.5, usefulness=0.5, confidence=0.8, frequency=0.0)
    return Chosen(scored=Scored(candidate=item, score=score, log_odds=0.0, breakdown=parts), text=item.text, tokens=0)


def opened(name: str, *terms: str, nonce: str = NONCE, zone: tzinfo = UTC, details: tuple[Detail, ...] = ()) -> Format:
    return open_format(name, tokenizer=o200k(), nonce=nonce, zone=zone, terms=terms, details=details, recent=RECENT)


def cost_alone(form: Format, item: Candidate, text: str) -> int:
    """Tokens of the item's line with a header of its own."""
    return form.header(item) + form.cost(item, text)
