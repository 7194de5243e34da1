"""Coefficients: a model as a file, with where it comes from. What is written is what `search/relevance.py` reads."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from germane.errors import InvalidInput
from germane.evaluate.fit.columns import Tables, model_tables
from germane.settings.settings import read_toml

__all__ = ["load_tables", "written"]

_PLAIN = re.compile(r"[A-Za-z0-9_-]+")
_INTRODUCTION = (
    "The relevance model: P(relevant | evidence) = sigmoid(intercept + w . evidence), one table for each column of the model.",
    "Written by `germane eval fit`; docs/relevance.md says how it was fitted and how to refit it.",
)


def load_tables(path: Path) -> Tables:
    """The tables of a model's file. Raises `InvalidInput`."""
    tables = model_tables(read_toml(path, "relevance model"))
    if not tables:
        raise InvalidInput(f"relevance model {path}: no table of coefficients in it")
    return tables


def written(tables: Tables, provenance: Mapping[str, Any], at: datetime, notes: Sequence[str] = ()) -> str:
    """TOML: an introduction, `[provenance]`, then each table with weights rounded to thousandths. The model's columns and its
    reasons are the tables of plain numbers; readers pass over the rest."""
    lines = [f"# {line}" for line in (*_INTRODUCTION, *notes)]
    lines += ["", "[provenance]", f"fitted = {at.date().isoformat()}"]
    lines += [f"{_key(name)} = {_value(value)}" for name, value in provenance.items()]
    for name, table in tables.items():
        lines += ["", f"[{_key(name)}]", *(f"{_key(key)} = {_number(value)}" for key, value in table.items())]
    return "\n".join(lines) + "\n"


def _number(value: float) -> str:
    text = f"{value:.4f}".rstrip("0")
    return f"{text}0" if text.endswith(".") else text


def _key(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else json.dumps(name)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return str(value) if isinstance(value, int) else f"{value:g}" if value % 1 else f"{value:.1f}"
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{_key(str(key))} = {_value(entry)}" for key, entry in value.items()) + " }"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ", ".join(map(_value, value)) + "]"
    return json.dumps(str(value), ensure_ascii=False)
