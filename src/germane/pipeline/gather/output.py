"""Output: clips the text of an event to what a prompt needs of it; the store keeps all of it (FORMAT-5)."""

from __future__ import annotations

from collections.abc import Sequence

from germane.text.normal import fold

__all__ = ["clipped"]

_MAX_CHARS, _MAX_LINES = 1_600, 24
"""A text within both is shown whole."""
_HEAD, _TAIL, _MATCHING = 8, 8, 7
"""Lines that are kept: from the beginning, from the end, where errors stand, and of those that the query's words stand in."""
_MAX_LINE = 240
"""Characters of a line."""


def clipped(text: str, words: Sequence[str] = ()) -> str:
    """The text of an event with its first and last lines, and the first lines between them that hold one of `words` (folded).
    A mark says how many lines are left out at each place. Deterministic; takes linear time."""
    lines = text.split("\n")
    if len(text) <= _MAX_CHARS and len(lines) <= _MAX_LINES:
        return text
    last = len(lines) - _TAIL
    kept = {*range(min(_HEAD, len(lines))), *range(max(0, last), len(lines))}
    if len(kept) < len(lines) and words:
        between = (index for index in range(_HEAD, last) if _holds(lines[index], words))
        kept.update(index for index, _ in zip(between, range(_MATCHING), strict=False))
    shown, before = list[str](), -1
    for index in sorted(kept):
        if index > before + 1:
            shown.append(_left_out(index - before - 1))
        shown.append(_cut(lines[index]))
        before = index
    return "\n".join(shown)


def _holds(line: str, words: Sequence[str]) -> bool:
    folded = fold(line)
    return any(word in folded for word in words)


def _left_out(count: int) -> str:
    return f"… ({count:,} {'line' if count == 1 else 'lines'} left out)"


def _cut(line: str) -> str:
    return line if len(line) <= _MAX_LINE else f"{line[: _MAX_LINE // 2]} … {line[-_MAX_LINE // 2 :]}"
