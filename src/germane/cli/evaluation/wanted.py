"""Wanted: what is to be measured, as the options say it, made sure of before anything long begins."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from germane.errors import InvalidInput
from germane.evaluate.dataset import Conversation, Dataset
from germane.evaluate.formats import FORMATS, load
from germane.evaluate.question_clock import QuestionClock

__all__ = ["Wanted", "datasets", "numbers", "words"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """`evaluate`'s arguments but the data, and those of them that two runs may differ in."""

    strategy: str
    embedder: str | None
    settings: Path | None
    relevance: Path | None
    model: str
    budgets: tuple[int, ...]
    ks: tuple[int, ...]
    clocks: tuple[str, ...]
    categories: tuple[str, ...]
    limit: int | None
    deadline: float | None
    """In milliseconds."""
    quick: bool
    seed: int

    def __post_init__(self) -> None:
        for clock in self.clocks:
            try:
                QuestionClock.of(clock, datetime.now(UTC))
            except InvalidInput as error:
                raise InvalidInput(f"--clock: {error}") from None
        if self.relevance is not None and not self.relevance.is_file():
            raise InvalidInput(f"no file {self.relevance} (give --relevance a file that germane eval fit wrote)")

    def arguments(self) -> dict[str, Any]:
        return {
            "strategy": self.strategy,
            "embedder": self.embedder,
            "settings": self.settings,
            "relevance": self.relevance,
            "model": self.model,
            "budgets": self.budgets,
            "ks": self.ks,
            "clocks": self.clocks,
            "categories": self.categories or None,
            "limit": self.limit,
            "deadline": None if self.deadline is None else self.deadline / 1000,
            "quick": self.quick,
            "seed": self.seed,
        }


def numbers(option: str, given: Sequence[str]) -> tuple[int, ...]:
    """Whole numbers above 0 from `250,500` or `1_000`, several such, in order. Raises `InvalidInput`."""
    texts = [text for one in given for text in re.split(r"[,\s]+", one.strip()) if text]
    if not texts or not all(re.fullmatch(r"\d[\d_]{0,8}", text) and int(text) for text in texts):
        wrong = next((text for text in texts if not re.fullmatch(r"\d[\d_]{0,8}", text) or not int(text)), "nothing")
        raise InvalidInput(f"{option} takes whole numbers from 1 with commas between them, such as 250,500, not {wrong[:40]!r}")
    return tuple(sorted({int(text) for text in texts}))


def words(given: Sequence[str]) -> tuple[str, ...]:
    """The names in `a,b`, several such."""
    return tuple(dict.fromkeys(name.strip() for one in given for name in one.split(",") if name.strip()))


def datasets(paths: Sequence[str], format: str | None) -> list[Dataset]:
    """One data set a format: files of the same format are measured together. Raises `InvalidInput`."""
    if format is not None and format not in FORMATS:
        raise InvalidInput(f"--format must be one of {', '.join(FORMATS)}, not {format[:40]!r}")
    found: dict[str, list[Dataset]] = {}
    for path in dict.fromkeys(paths):
        if not Path(path).exists():
            hint = "several numbers go together with commas: --tokens 250,500" if path.isdecimal() else "check the path"
            raise InvalidInput(f"no file or folder {path} ({hint})")
        dataset = load(Path(path), format=format)
        found.setdefault(dataset.format, []).append(dataset)
    return [_together(alike) for alike in found.values()]


def _together(alike: Sequence[Dataset]) -> Dataset:
    """One of several. A conversation that comes again is left out; others of its name are told apart by their data set's."""
    if len(alike) == 1:
        return alike[0]
    names = [dataset.name for dataset in alike]
    conversations: list[Conversation] = []
    given: list[Conversation] = []
    met: set[str] = set()
    for number, dataset in enumerate(alike, start=1):
        for conversation in dataset.conversations:
            if conversation.name in met and conversation in given:
                continue
            given.append(conversation)
            name = conversation.name if conversation.name not in met else f"{dataset.name}/{conversation.name}"
            name = name if name not in met else f"{dataset.name}-{number}/{conversation.name}"
            met.add(name)
            conversations.append(replace(conversation, name=name))
    shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    dropped = tuple(one for dataset in alike for one in dataset.dropped)
    return Dataset(name=shown, format=alike[0].format, conversations=tuple(conversations), dropped=dropped)
