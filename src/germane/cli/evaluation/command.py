"""Command: from the options to what is shown and written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from germane.cli.evaluation.comparison import comparison_page
from germane.cli.evaluation.differences import show_comparison
from germane.cli.evaluation.page import report_page
from germane.cli.evaluation.saved import comparison_shape, report_shape, save, writable
from germane.cli.evaluation.tables import show
from germane.cli.evaluation.wanted import Wanted, datasets
from germane.cli.evaluation.work import compared, compared_files, known, reports, versus
from germane.cli.global_options import finish
from germane.cli.reading import write_text
from germane.cli.screen import answer, console
from germane.errors import InvalidInput
from germane.evaluate.compare import Comparison
from germane.evaluate.report import Report

__all__ = ["Outputs", "run"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Outputs:
    """Where results go; `printed` is JSON on standard output instead of tables."""

    json: Path | None
    html: Path | None
    printed: bool

    def __post_init__(self) -> None:
        for option, path in (("--json", self.json), ("--html", self.html)):
            if path is not None and str(path) != "-":
                writable(option, path)
        if self.html is not None and str(self.html) == "-":
            raise InvalidInput("--html takes a file, not -")

    def write(self, shape: Mapping[str, Any], page: str) -> None:
        if self.json is not None and str(self.json) != "-":
            save(self.json, shape)
        if self.html is not None:
            write_text(self.html, page)


def run(data: Sequence[str], format: str | None, wanted: Wanted, compare: tuple[str, str] | None, outputs: Outputs) -> None:
    """Raises `InvalidInput` for what the user can put right, before anything long begins where that can be told."""
    if compare is not None:
        _compare(data, format, wanted, compare, outputs)
        return
    if not data:
        raise InvalidInput(
            "nothing to measure: give DATA, such as germane eval requests.jsonl (germane eval --help tells more)"
        )
    known(wanted.settings).find(wanted.strategy)
    found = finish(reports(datasets(data, format), wanted, quiet=outputs.printed))
    shape = report_shape(found)
    outputs.write(shape, report_page(found) if outputs.html else "")
    _show(shape, found, outputs)


def _compare(data: Sequence[str], format: str | None, wanted: Wanted, two: tuple[str, str], outputs: Outputs) -> None:
    if data:
        sides = versus(*two, wanted)
        found = finish(compared(datasets(data, format), wanted, sides, quiet=outputs.printed))
    else:
        found = compared_files(*two, wanted.seed)
    shape = comparison_shape(found)
    outputs.write(shape, comparison_page(found) if outputs.html else "")
    _show(shape, found, outputs)


def _show(shape: Mapping[str, Any], found: Sequence[Report | Comparison], outputs: Outputs) -> None:
    if outputs.printed:
        answer(shape)
        return
    where = console()
    for number, one in enumerate(found):
        if number:
            where.print()
        if isinstance(one, Comparison):
            show_comparison(one, where)
        else:
            show(one, where)
