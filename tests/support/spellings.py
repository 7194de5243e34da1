"""Spellings: JSON as an unusual sender may write it, with white space, escapes and numbers of many forms."""

from __future__ import annotations

import json
from random import Random
from typing import Any

__all__ = ["Speller"]


class Speller:
    """Writes values as JSON, differently for each seed."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self.written: dict[int, str] = {}
        """The spelling of each value that was written, by its id."""

    def write(self, value: Any) -> str:
        match value:
            case dict():
                members = (f"{self._text(key)}{self._space()}:{self._space()}{self.write(one)}" for key, one in value.items())
                text = f"{{{','.join(f'{self._space()}{one}{self._space()}' for one in members) or self._space()}}}"
            case list():
                text = f"[{','.join(f'{self._space()}{self.write(one)}{self._space()}' for one in value) or self._space()}]"
            case str():
                text = self._text(value)
            case bool() | None:
                text = json.dumps(value)
            case int():
                text = "-0" if value == 0 and self._random.random() < 0.5 else str(value)
            case _:
                text = json.dumps(value).replace("e", self._random.choice("eE"))
        self.written[id(value)] = text
        return text

    def _space(self) -> str:
        return self._random.choice(("", "", " ", "\n  ", "\t", "\r\n"))

    def _text(self, value: str) -> str:
        """Any character may be an escape, and those outside the first plane two."""
        return f'"{"".join(map(self._character, value))}"'

    def _character(self, char: str) -> str:
        if self._random.random() < 0.2 or "\ud800" <= char <= "\udfff":
            units = char.encode("utf-16-be", "surrogatepass")
            return "".join(f"\\u{units[at]:02x}{units[at + 1]:02X}" for at in range(0, len(units), 2))
        return "\\/" if char == "/" and self._random.random() < 0.5 else json.dumps(char, ensure_ascii=False)[1:-1]
