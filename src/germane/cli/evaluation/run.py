"""Run: measures or compares as the options say, then prints the result and writes the files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from germane.cli.evaluation.comparison_page import comparison_page
from germane.cli.evaluation.comparison_tables import print_comparison
from germane.cli.evaluation.evaluation_options import EvaluationOptions, datasets
from germane.cli.evaluation.measure import compare_files, compare_runs, contrast, reports
from germane.cli.evaluation.report_page import report_page
from germane.cli.evaluation.report_tables import print_report
from germane.cli.evaluation.result_files import check_writable, comparison_shape, report_shape, save
from germane.cli.files import write_text
from germane.cli.global_options import run_async
from germane.cli.screen import console, print_json
from germane.errors import InvalidInput
from germane.evaluate.comparison import Comparison
from germane.evaluate.report import Report

__all__ = ["Outputs", "run"]


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
