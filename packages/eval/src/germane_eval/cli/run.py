"""Run: measures or compares as the options of `germane eval` say, prints the result and writes the files.

Data sets are evaluated with a progress bar, once for a report or twice for a comparison.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from germane.api.strategies import Strategies
from germane.cli.files import write_text
from germane.cli.options import run_async
from germane.cli.screen import console, print_json, progress
from germane.errors import InvalidInput
from germane.settings.settings import Settings
from germane.types.budget import Effort, parse_effort
from germane.types.checks import check_one_of
from germane_eval.cli.pages import comparison_page, report_page
from germane_eval.cli.result_files import check_writable, comparison_shape, load_reports, report_shape, save
from germane_eval.cli.tables import print_comparison, print_report
from germane_eval.dataset import Conversation, Dataset, QuestionClock
from germane_eval.formats import FORMATS, load
from germane_eval.report import Comparison, Report, compare
from germane_eval.run import evaluate


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    """The files to write; `printed` means JSON on standard output instead of tables.

    Raises `InvalidInput` where a file can't be written: before a measurement of hours, not after it."""

    json: Path | None
    html: Path | None
    printed: bool

    def __post_init__(self) -> None:
        for option, path in (("--json", self.json), ("--html", self.html)):
            if path is not None and str(path) != "-":
                check_writable(option, path)
        if self.html is not None and str(self.html) == "-":
            raise InvalidInput("--html takes a file, not -")

    def write(self, shape: Mapping[str, Any], page: str) -> None:
        if self.json is not None and str(self.json) != "-":
            save(self.json, shape)
        if self.html is not None:
            write_text(self.html, page)


def run(
    data: Sequence[str], format: str | None, options: EvaluationOptions, compare: tuple[str, str] | None, outputs: Outputs
) -> None:
    """Run `germane eval`. Raises `InvalidInput` for a wrong option, where possible before the measurement begins."""
    if compare is not None:
        _compare(data, format, options, compare, outputs)
        return
    if not data:
        raise InvalidInput(
            "nothing to measure: give DATA, such as germane eval requests.jsonl (germane eval --help tells more)"
        )
    measured = run_async(reports(datasets(data, format), options, quiet=outputs.printed))
    shape = report_shape(measured)
    outputs.write(shape, report_page(measured) if outputs.html else "")
    _print(shape, measured, outputs)


def _compare(
    data: Sequence[str], format: str | None, options: EvaluationOptions, two: tuple[str, str], outputs: Outputs
) -> None:
    """Compare two runs over `data`, or without `data` two saved results."""
    if data:
        sides = contrast(*two, options)
        compared = run_async(compare_runs(datasets(data, format), options, sides, quiet=outputs.printed))
    else:
        compared = compare_files(*two, options.seed)
    shape = comparison_shape(compared)
    outputs.write(shape, comparison_page(compared) if outputs.html else "")
    _print(shape, compared, outputs)


def _print(shape: Mapping[str, Any], results: Sequence[Report | Comparison], outputs: Outputs) -> None:
    if outputs.printed:
        print_json(shape)
        return
    screen = console()
    for number, result in enumerate(results):
        if number:
            screen.print()
        if isinstance(result, Comparison):
            print_comparison(result, screen)
        else:
            print_report(result, screen)


# Evaluates data sets.


_EMBEDDERS = ("distilled", "minilm", "static")


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrast:
    """The one option that the two runs of a comparison differ in, and its two values."""

    what: Literal["strategy", "embedder"]
    a: str
    b: str


def contrast(a: str, b: str, options: EvaluationOptions) -> Contrast:
    """Recognise A and B as two strategies or two embedders. Raises `InvalidInput` where they are neither."""
    strategies = list(known_strategies(options.settings))
    if a in strategies and b in strategies:
        return Contrast(what="strategy", a=a, b=b)
    if _is_embedder(a) and _is_embedder(b):
        return Contrast(what="embedder", a=a, b=b)
    if Path(a).is_file() and Path(b).is_file():
        raise InvalidInput("--compare of two saved results needs no DATA: leave it out")
    unknown = next((name for name in (a, b) if name not in strategies and not _is_embedder(name)), None)
    why = f"{unknown[:60]!r} is neither" if unknown else f"{a} and {b} are one of each"
    raise InvalidInput(
        f"--compare takes two strategies ({', '.join(strategies)}) or two embedders (distilled, minilm, openai:<model>): {why}"
    )


def known_strategies(settings: Path | None) -> Strategies:
    """The built-in strategies and those of the settings."""
    return Strategies(Settings.load(settings, os.environ).strategies)


async def reports(datasets: Sequence[Dataset], options: EvaluationOptions, *, quiet: bool, label: str = "") -> list[Report]:
    """Measure each data set; returns one report each. Raises what `evaluate` raises."""
    if options.strategy is not None:
        known_strategies(options.settings).find(options.strategy)
    measured = []
    with progress(quiet) as bar:
        for dataset in datasets:
            task = bar.add_task(f"measuring {label or dataset.name}", total=None)
            measured.append(
                await evaluate(
                    dataset,
                    **options.arguments(),
                    progress=lambda done, total, task=task: bar.update(task, completed=done, total=total),  # type: ignore[misc]
                )
            )
    return measured


async def compare_runs(
    datasets: Sequence[Dataset], options: EvaluationOptions, two: Contrast, *, quiet: bool
) -> list[Comparison]:
    """Measure each data set with both values of `two`; returns one comparison per data set."""
    sides = [
        await reports(datasets, replace(options, **{two.what: name}), quiet=quiet, label=name)  # type: ignore[arg-type]
        for name in (two.a, two.b)
    ]
    return [compare(a, b, seed=options.seed) for a, b in zip(*sides, strict=True)]


def compare_files(a: str, b: str, seed: int) -> list[Comparison]:
    """Compare two files that --json wrote, data set by data set. Raises `InvalidInput`."""
    for path in (a, b):
        if not Path(path).is_file():
            raise InvalidInput(f"no file {path}: without DATA, --compare takes two results saved with --json FILE")
    first, second = load_reports(a), load_reports(b)
    if len(first) == len(second) == 1:
        return [compare(first[0], second[0], seed=seed)]
    by_dataset = {(report.run.dataset, report.run.format): report for report in second}
    pairs = [(report, by_dataset[key]) for report in first if (key := (report.run.dataset, report.run.format)) in by_dataset]
    if not pairs:
        raise InvalidInput(f"{a} and {b} have no data set in common (measure both on the same data)")
    return [compare(left, right, seed=seed) for left, right in pairs]


def _is_embedder(name: str) -> bool:
    return name in _EMBEDDERS or name.startswith("openai:") or "://" in name


# The checked options of `germane eval`, and the data sets that it loads.


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
    if format is not None:
        check_one_of("--format", format, FORMATS)
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
