"""Stand-in: deterministic functions in the place of the language model that writes a summary for other libraries.

A real model writes better than `first` and `extract`, and can do worse than `all`: it never keeps everything it was shown. So
`first` and `extract` are two ways to be truthful within a number of tokens, and `all` is a ceiling: what survives with it is
what the library shows its model, and what doesn't is lost whatever model there is.
"""

from __future__ import annotations

from collections.abc import Callable

from germane.text.summary import summarise

__all__ = ["STAND_INS", "SUMMARY_TOKENS", "StandIn"]

StandIn = Callable[[str, Callable[[str], int]], str]
"""From the text that a model is shown, and the tokens of a text, to the summary."""
SUMMARY_TOKENS = 2_000
"""What a summary may have, the default of germane's too; `all` has no limit."""


def _first(shown: str, count: Callable[[str], int]) -> str:
    """The first 2,000 tokens of what is shown, cut at a line's end."""
    kept: list[str] = []
    left = SUMMARY_TOKENS
    for line in shown.splitlines():
        left -= count(line) + 1
        if left < 0:
            break
        kept.append(line)
    return "\n".join(kept) or shown[: 3 * SUMMARY_TOKENS]


def _extract(shown: str, count: Callable[[str], int]) -> str:
    """The sentences that say most of what is shown (SumBasic), word for word, within 2,000 tokens. This is germane's general
    summary of a text; it knows nothing of constraints and artifacts."""
    found = summarise(shown, SUMMARY_TOKENS, count, reach=len(shown))
    return found.text if found else _first(shown, count)


def _all(shown: str, count: Callable[[str], int]) -> str:
    """Everything that is shown."""
    return shown


STAND_INS: dict[str, StandIn] = {"first": _first, "extract": _extract, "all": _all}
