"""EvaluationOptions: the checked options of `germane eval`, and the data sets that it loads."""

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
from germane.types.effort import Effort, parse_effort

__all__ = ["EvaluationOptions", "datasets", "parse_efforts", "parse_names", "parse_numbers"]


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationOptions:
    """The arguments of `evaluate` except the data. Raises `InvalidInput` for a bad clock or a missing --relevance file."""

    strategy: str | None
    """None takes the default of `evaluate`, as for `budgets`."""
    embedder: str | None
    settings: Path | None
    relevance: Path | None
    model: str
    budgets: tuple[int, ...] | None
    ks: tuple[int, ...]
    efforts: tuple[Effort | float, ...]
    """Of the assemblies without a budget; empty for the strategy's own."""
    clocks: tuple[str, ...]
    categories: tuple[str, ...]
    limit: int | None
    deadline: float | None
    """Milliseconds."""
    talk: int | None
    """Of everyday data: requests that share a conversation."""
    quick: bool
    without_need: bool | None
    """None asks turns without need unless `quick`."""
    turns: int | None
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
        """The keyword arguments of `evaluate`; its deadline is in seconds."""
        return {
            "strategy": self.strategy,
            "embedder": self.embedder,
            "settings": self.settings,
            "relevance": self.relevance,
            "model": self.model,
            "budgets": self.budgets,
            "ks": self.ks,
            "efforts": self.efforts,
            "clocks": self.clocks,
            "categories": self.categories or None,
            "limit": self.limit,
            "deadline": None if self.deadline is None else self.deadline / 1000,
            "talk": self.talk,
            "quick": self.quick,
            "without_need": self.without_need,
            "turns": self.turns,
            "seed": self.seed,
        }


def parse_numbers(option: str, given: Sequence[str]) -> tuple[int, ...]:
    """Parse whole numbers above 0, given as `250,500` or `1_000`, in one or several texts. Returns them sorted, each once.

    Raises `InvalidInput`, which names `option`."""
    texts = [text for part in given for text in re.split(r"[,\s]+", part.strip()) if text]
    if not texts or not all(re.fullmatch(r"\d[\d_]{0,8}", text) and int(text) for text in texts):
        wrong = next((text for text in texts if not re.fullmatch(r"\d[\d_]{0,8}", text) or not int(text)), "nothing")
        raise InvalidInput(f"{option} takes whole numbers from 1 with commas between them, such as 250,500, not {wrong[:40]!r}")
    return tuple(sorted({int(text) for text in texts}))


def parse_names(given: Sequence[str]) -> tuple[str, ...]:
    """Parse names, given as `a,b`, in one or several texts. Returns each once, in the order given."""
    return tuple(dict.fromkeys(name.strip() for part in given for name in part.split(",") if name.strip()))


def parse_efforts(given: Sequence[str]) -> tuple[Effort | float, ...]:
    """Parse efforts, given as `low,high` or `0.5`, in one or several texts. Raises `InvalidInput`, which names the option."""
    try:
        return tuple(map(parse_effort, parse_names(given)))
    except InvalidInput as error:
        raise InvalidInput(f"--effort: {error}") from None


def datasets(paths: Sequence[str], format: str | None) -> list[Dataset]:
    """Load the data: one data set per format, as files of the same format are measured together. Raises `InvalidInput`."""
    if format is not None and format not in FORMATS:
        raise InvalidInput(f"--format must be one of {', '.join(FORMATS)}, not {format[:40]!r}")
    by_format: dict[str, list[Dataset]] = {}
    for path in dict.fromkeys(paths):
        if not Path(path).exists():
            hint = "several numbers go together with commas: --tokens 250,500" if path.isdecimal() else "check the path"
            raise InvalidInput(f"no file or folder {path} ({hint})")
        dataset = load(Path(path), format=format)
        by_format.setdefault(dataset.format, []).append(dataset)
    return [_merged(alike) for alike in by_format.values()]


def _merged(datasets: Sequence[Dataset]) -> Dataset:
    """Merge data sets. A repeated conversation is dropped; different conversations of one name get the data set's as prefix."""
    if len(datasets) == 1:
        return datasets[0]
    names = [dataset.name for dataset in datasets]
    conversations: list[Conversation] = []
    kept: list[Conversation] = []
    used_names: set[str] = set()
    for number, dataset in enumerate(datasets, start=1):
        for conversation in dataset.conversations:
            if conversation.name in used_names and conversation in kept:
                continue
            kept.append(conversation)
            name = conversation.name if conversation.name not in used_names else f"{dataset.name}/{conversation.name}"
            name = name if name not in used_names else f"{dataset.name}-{number}/{conversation.name}"
            used_names.add(name)
            conversations.append(replace(conversation, name=name))
    shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    dropped = tuple(reason for dataset in datasets for reason in dataset.dropped)
    return Dataset(name=shown, format=datasets[0].format, conversations=tuple(conversations), dropped=dropped)
