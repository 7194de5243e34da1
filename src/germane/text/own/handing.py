"""Handing over: where a writer's words hand a text over, and where a line begins a prompt or asks about what stands before."""

from __future__ import annotations

import re

from germane.text.normal import in_lower_case
from germane.text.own.forms import forms
from germane.text.own.lines import kind_of

__all__ = [
    "ENDS", "FOREIGN", "MAX_INTRO", "MIN_SHOWN", "begins_prompt", "handed_at", "marked_lines_hidden", "names_text",
    "opens_text", "shown_hidden",
]  # fmt: skip

MAX_INTRO = 300
"""Characters of what hands a text over without a colon, and of what asks about one."""
MIN_SHOWN = 40
"""Characters of a text that is asked about below it."""
ENDS = re.compile(r"[.!?。！？]\s")
FOREIGN = frozenset({"marked", "quoted", "stamp"})
"""Kinds of lines that are somebody else's by a mark of their own."""
_MAX_ASKED = 60
"""Characters of a last sentence that asks for nothing but work on what stands before it."""
_CHECKED = 240
"""Characters before a colon, and at the beginning of a line, that are looked at."""
_COLON = re.compile(r":(?=\s|\Z|\0)|：")
_FILE = re.compile(r"[\w./\\-]{0,60}\.(?:md|mdc|txt|rst|\w{0,10}rules|docx?|pdf|html?|csv|tsv|srt|vtt|eml|log)")
"""The name of a file that holds a text."""
_LEAD = " \t*_#\"'“”„«»-–—•"


def handed_at(low: str) -> int | None:
    """Returns where the words begin that hand over what stands behind their colon, in one clause with it; None where none do.
    `low` is a line in lower case. Linear."""
    start = 0
    for colon in _COLON.finditer(low):
        end = colon.start()
        clause = max(start, end - _CHECKED, *(low.rfind(mark, start, end) + 1 for mark in ".!?:。"))
        found = forms().handed.search(low, clause, end + 2)
        if found is not None:
            return found.start()
        start = end + 1
    return None


def begins_prompt(low: str) -> bool:
    """Returns whether a line, in lower case, begins a prompt: it tells somebody who they are, not how good."""
    bare = low[:_CHECKED].lstrip(_LEAD)
    found = forms().roles.match(bare)
    return found is not None and forms().praises.match(bare) is None


def opens_text(low: str) -> bool:
    """Returns whether an opening line, in lower case, shows what stands below it: it asks about others and not about its writer
    ("Can they do that?"), or points to something and states nothing of its writer ("Is this rude or am I tired"). Linear."""
    if len(low) > MAX_INTRO or forms().states.search(low) is not None:
        return False
    if forms().shows.search(low) is not None:
        return True
    asks = low.rstrip().endswith(("?", "？"))
    return asks and forms().others.search(low) is not None and forms().firsts.search(low) is None


def names_text(low: str) -> bool:
    """Returns whether a short line, in lower case, does nothing but name a text: what stands below it is that text."""
    bare = low.strip(_LEAD)
    if low.rstrip().endswith((".", "?", "!", ",", "…")):
        return False
    return forms().texts.fullmatch(bare) is not None or _FILE.fullmatch(low.strip().rstrip(":")) is not None


def shown_hidden(text: str, *, for_task: bool) -> str:
    """Returns a single line with a prompt hidden, and what its last sentence asks about: "… What is wrong with this prompt?".
    Linear."""
    low, stripped = in_lower_case(text), text.rstrip()
    plays = begins_prompt(low)
    start = max((found.end() for found in ENDS.finditer(stripped, max(0, len(stripped) - MAX_INTRO))), default=0)
    if not stripped.endswith(("?", "？")):
        if plays and not (for_task and forms().bots.search(low, 0, _CHECKED) is None):
            return "\n" * len(text)
        return text if for_task or not _reworks(low, start, len(stripped)) else "\n" * start + text[start:]
    asked = start >= MIN_SHOWN and forms().asks.search(low, start) and forms().given.search(low, start)
    if plays or asked:
        return "\n" * start + text[start:]
    return text


def _reworks(low: str, start: int, end: int) -> bool:
    """Whether a last sentence asks for nothing but work on the text before it: "Translate please"."""
    if not MIN_SHOWN <= start < end <= start + _MAX_ASKED or low.find("\0", start, end) >= 0:
        return False
    return forms().works.search(low, start, end) is not None


def marked_lines_hidden(text: str) -> str:
    """Returns `text` with lines of code, logs, tables and quotations as line ends, and what a colon hands over: what is left of
    an assistant's text, or of a file of rules. Linear."""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if line and kind_of(line, in_lower_case(line)) in FOREIGN:
            lines[number] = "\n" * len(line)
        elif ":" in line and (kept := handed_at(in_lower_case(line))) is not None:
            lines[number] = line[:kept] + "\n" * (len(line) - kept)
            lines[number + 1 :] = ["\n" * len(later) for later in lines[number + 1 :]]
            break
    return "\n".join(lines)
