"""Result files: writes evaluations and comparisons as JSON files, and reads evaluations.

A file holds the questions and the result of each, but no messages: keep it as private as the questions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from germane.cli.codec import decode, encode
from germane.cli.files import read_json, write_text
from germane.cli.screen import printable_json
from germane.errors import InvalidInput
from germane.evaluate.comparison import Comparison
from germane.evaluate.report import Report

__all__ = ["MARK", "VERSION", "check_writable", "comparison_shape", "load_reports", "report_shape", "save"]

VERSION = 1
MARK = '<meta name="generator" content="germane eval">'
"""Marks a page that germane wrote: only such a page may be overwritten."""

_REPORTS, _COMPARISONS = "germane-evaluation", "germane-comparison"


def report_shape(reports: Sequence[Report]) -> dict[str, Any]:
    """The JSON document of one evaluation, with a report for each data set."""
    return {"format": _REPORTS, "version": VERSION, "reports": [encode(report) for report in reports]}


def comparison_shape(comparisons: Sequence[Comparison]) -> dict[str, Any]:
    """The JSON document of a comparison, one for each data set."""
    return {"format": _COMPARISONS, "version": VERSION, "comparisons": [encode(comparison) for comparison in comparisons]}


def save(path: Path, shape: Mapping[str, Any]) -> None:
    """Write a document. Raises `InvalidInput` where the file can't be written."""
    write_text(path, printable_json(shape, indent=None) + "\n")


def load_reports(path: str) -> list[Report]:
    """Read a file that `germane eval DATA --json PATH` wrote. Raises `InvalidInput`, which says what is wrong with it."""
    document = read_json(path)
    kind = document.get("format") if isinstance(document, Mapping) else None
    if not isinstance(document, Mapping) or kind != _REPORTS:
        why = "a comparison, not one evaluation" if kind == _COMPARISONS else "no saved evaluation"
        raise InvalidInput(f"{path} is {why} (write one with germane eval DATA --json FILE)")
    version = document.get("version")
    if version != VERSION or isinstance(version, bool):
        raise InvalidInput(
            f"{path} is an evaluation of version {repr(version)[:20]}; this germane reads version {VERSION} (measure again)"
        )
    reports = document.get("reports")
    if not isinstance(reports, list) or not reports:
        raise InvalidInput(f"{path}: has no reports (measure again)")
    try:
        return [decode(Report, report, f"report {number}") for number, report in enumerate(reports, start=1)]
    except InvalidInput as error:
        raise InvalidInput(f"{path}: {error}") from None
    except RecursionError:
        raise InvalidInput(f"{path}: nested too deep") from None


def check_writable(option: str, path: Path) -> None:
    """Raise `InvalidInput` where `path` can't be written, or holds something else than an earlier result."""
    if path.is_dir():
        raise InvalidInput(f"{option} {path} is a directory (give a file in it)")
    if not path.absolute().parent.is_dir():
        raise InvalidInput(f"{option}: no directory {path.parent} (create it first)")
    if not path.exists():
        return
    try:
        with path.open("rb") as file:
            beginning = file.read(1000).decode("utf-8", "replace")
    except OSError as error:
        raise InvalidInput(f"{option} {path}: {error.strerror}") from None
    if (
        beginning.strip()
        and f'"{_REPORTS}"' not in beginning
        and f'"{_COMPARISONS}"' not in beginning
        and MARK not in beginning
    ):
        raise InvalidInput(f"{option} {path} is a file that germane eval didn't write (give another name, or delete it)")
