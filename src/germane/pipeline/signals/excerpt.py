"""Excerpt: the part of a question that is looked at. Long ones ask at their beginning or end; the middle is paste (SIG-3)."""

from __future__ import annotations

__all__ = ["excerpt"]

_MOST = 2_400
_WORD = 40


def excerpt(text: str, most: int = _MOST) -> str:
    """`text` itself up to `most` characters, else its head and tail, cut between words. Lone surrogates become U+FFFD."""
    if len(text) > most:
        tail = most * 2 // 5
        text = f"{_head(text[: most - tail])}\n{_tail(text[-tail:])}"
    text = text.strip()
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _head(text: str) -> str:
    cut = max(text.rfind(" ", len(text) - _WORD), text.rfind("\n", len(text) - _WORD))
    return text[:cut] if cut > 0 else text


def _tail(text: str) -> str:
    cut = min((place for place in (text.find(" ", 0, _WORD), text.find("\n", 0, _WORD)) if place >= 0), default=-1)
    return text[cut + 1 :]
