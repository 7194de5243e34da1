"""Saved: evaluations as JSON files, and back.

They hold the questions and how each was answered, no messages: keep them as private as the questions are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from germane.cli.codec import decode, encode
from germane.cli.reading import read_json, write_text
from germane.cli.screen import dumped
from germane.errors import InvalidInput
from germane.evaluate.compare import Comparison
from germane.evaluate.report import Report

__all__ = ["MARK", "VERSION", "comparison_shape", "load_reports", "report_shape", "save", "writable"]

VERSION = 1
MARK = '<meta name="generator" content="germane eval">'
"""What a page written by germane has in its head."""

_REPORTS, _COMPARISONS = "germane-evaluation", "germane-comparison"


def report_shape(reports: Sequence[Report]) -> dict[str, Any]:
    return {"format": _REPORTS, "version": VERSION, "reports": [encode(report) for report in reports]}


def comparison_shape(comparisons: Sequence[Comparison]) -> dict[str, Any]:
    return {"format": _COMPARISONS, "version": VERSION, "comparisons": [encode(one) for one in comparisons]}


def save(path: Path, shape: Mapping[str, Any]) -> None:
    """Raises `InvalidInput` where the file can't be written."""
    write_text(path, dumped(shape, indent=None) + "\n")


def load_reports(path: str) -> list[Report]:
    """What `germane eval DATA --json PATH` wrote. Raises `InvalidInput` naming what is wrong with the file."""
    found = read_json(path)
    kind = found.get("format") if isinstance(found, Mapping) else None
    if not isinstance(found, Mapping) or kind != _REPORTS:
        why = "a comparison, not one evaluation" if kind == _COMPARISONS else "no saved evaluation"
        raise InvalidInput(f"{path} is {why} (write one with germane eval DATA --json FILE)")
    version = found.get("version")
    if version != VERSION or isinstance(version, bool):
        raise InvalidInput(
            f"{path} is an evaluation of version {repr(version)[:20]}; this germane reads version {VERSION} (measure again)"
        )
    listed = found.get("reports")
    if not isinstance(listed, list) or not listed:
        raise InvalidInput(f"{path}: has no reports (measure again)")
    try:
        return [decode(Report, report, f"report {number}") for number, report in enumerate(listed, start=1)]
    except InvalidInput as error:
        raise InvalidInput(f"{path}: {error}") from None
    except RecursionError:
        raise InvalidInput(f"{path}: nested too deep") from None


def writable(option: str, path: Path) -> None:
    """Make sure, before hours of work, that the result can be written there, and that nothing but an earlier result is
    overwritten. Raises `InvalidInput`."""
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
