"""Outcome: what the words mean that say how an event ended."""

from __future__ import annotations

__all__ = ["failed", "succeeded"]

_GOOD = frozenset({"0", "accepted", "closed", "complete", "completed", "done", "fixed", "ok", "pass", "passed", "resolved"})
_BETTER = frozenset({"solved", "succeeded", "success", "successful", "true", "yes"})
_BAD = frozenset(
    {"abort", "aborted", "broken", "cancelled", "crash", "crashed", "denied", "error", "fail", "failed", "failure"}
)
_WORSE = frozenset({"false", "no", "refused", "rejected", "timeout", "unresolved"})
_LONGEST = 32
"""Characters of an outcome that is looked up; a longer one is a sentence, which is neither good nor bad."""


def succeeded(outcome: str) -> bool:
    """Whether an outcome says that it went well, such as `success`, `ok`, `passed` or `exit 0`."""
    word = _word(outcome)
    return word in _GOOD or word in _BETTER


def failed(outcome: str) -> bool:
    """Whether an outcome says that it went wrong, such as `failure`, `error`, `timeout` or `exit 1`."""
    word = _word(outcome)
    return word in _BAD or word in _WORSE or (word.isdecimal() and word.strip("0") != "")


def _word(outcome: str) -> str:
    """The outcome as one word: the number of `exit 1`, `exit code 1` and `status: 1`, else all of it."""
    if len(outcome) > _LONGEST:
        return ""
    words = outcome.casefold().replace(":", " ").replace("=", " ").split()
    if len(words) > 1 and words[0] in ("exit", "exited", "code", "status", "returncode"):
        return words[-1].lstrip("-")
    return "_".join(words)
