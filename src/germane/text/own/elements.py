"""Elements: parts of a message between tags: somebody else's, but for those in which clients wrap the user's own words.

A client's wrapping stands around the whole message: before it stand elements or a line of the client's own. A `<task>` in the
middle of what a person writes is part of a prompt that the person shows, and hidden like any other element.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from germane.text.own.quotations import BLOCK

__all__ = ["Region", "regions", "without_elements"]

_TAG = re.compile(r"(?:(?<!\w)<|<(?=/))(/?)([A-Za-z][\w-]{0,40})(?=[\s/>])[^<>\n]{0,400}>")
_EMPTY = frozenset({"br", "hr", "img", "input", "meta", "link", "wbr"})
_OWN = frozenset({
    "task", "query", "request", "question", "answer", "feedback", "command-args", "user_query", "user_message",
    "user_input", "user_request", "user_feedback", "user-query", "user-message", "user-input", "user-request",
    "user-feedback", "user_prompt", "user-prompt", "userrequest",
})  # fmt: skip
"""Elements in which clients wrap what the user typed."""
_RULES = frozenset({"user_rules", "user_instructions", "user-rules", "user-instructions"})
"""Elements in which clients hand over the rules that bind a task."""
_OF_CLIENT = re.compile(r"(?:the user\b[^\n]{0,160}|#[^\n]{0,160}|\[[a-z_]{1,60}\b[^\[\]\n]{0,160}\] result:)", re.IGNORECASE)
"""A line that a client writes above the user's words."""
_MAX_OUTSIDE = 200
_RULE_FILE = re.compile(
    r"(?:contents of [^\n]{0,300}(?:claude|agents|gemini|copilot-instructions|\.cursorrules|\.clinerules)[^\n]{0,100}:[ \t]*\n"
    r"|AGENTS\.md instructions\b[^\n]{0,300}\n)",
    re.IGNORECASE,
)
"""The line that says which file of rules follows."""


class Region(NamedTuple):
    """A part of a message that may hold the user's own words."""

    start: int
    text: str
    """With hidden elements as `BLOCK`."""
    rules: bool = False
    """Whether it is a file of project rules that a client handed over."""


class _Element(NamedTuple):
    name: str
    start: int
    inner: int
    closed: int
    end: int


def regions(text: str, *, for_task: bool) -> list[Region]:
    """Returns the parts of a message that may be the user's own; with `for_task` also rules of the project that the client
    handed over. Linear."""
    if "<" not in text or not (found := _elements(text)):
        return [Region(0, text)]
    kept, outside, before = list[Region](), "", 0
    for element in found:
        if len(outside) <= _MAX_OUTSIDE:
            outside += text[before : element.start].strip()
        if for_task and (rules := _rules(text, element, before)) is not None:
            kept.append(Region(rules, text[rules : element.closed], rules=True))
        elif element.name.lower() in _OWN and (not outside or _OF_CLIENT.fullmatch(outside)):
            inner = text[element.inner : element.closed]
            kept.append(Region(element.inner, _hidden(inner, _elements(inner))))
        before = element.end
    if any(not region.rules for region in kept):
        return kept
    return sorted([*kept, Region(0, _hidden(text, found))])


def without_elements(text: str) -> str:
    """Returns `text` with its elements hidden, the tags too; one that isn't closed reaches to the end. Linear."""
    return _hidden(text, _elements(text)).replace(BLOCK, "\n") if "<" in text else text


def _hidden(text: str, found: list[_Element]) -> str:
    pieces, place = list[str](), 0
    for element in found:
        pieces += (text[place : element.start], BLOCK * (element.end - element.start))
        place = element.end
    return "".join(pieces) + text[place:]


def _elements(text: str) -> list[_Element]:
    """The outermost elements. One reaches to the last closing tag of its name before the next opening tag of that name, so that
    a closing tag inside a shown text ends nothing."""
    tags = list(_TAG.finditer(text))
    by_name: dict[str, _Closings] = {}
    for tag in tags:
        by_name.setdefault(tag[2].lower(), _Closings()).add(tag)
    found, place = list[_Element](), 0
    for tag in tags:
        if tag.start() < place or tag[1]:
            continue
        name = tag[2].lower()
        if tag[0].endswith("/>") or name in _EMPTY:
            found.append(_Element(tag[2], tag.start(), tag.end(), tag.end(), tag.end()))
            place = tag.end()
            continue
        closing = by_name[name].of(tag.end())
        inner, closed, end = (tag.end(), closing.start(), closing.end()) if closing else (tag.end(), len(text), len(text))
        found.append(_Element(tag[2], tag.start(), inner, closed, end))
        place = end
    return found


class _Closings:
    """The closing tags of one name, and where its opening ones stand."""

    __slots__ = ("_closing", "_next", "_opened", "_opening")

    def __init__(self) -> None:
        self._closing = list[re.Match[str]]()
        self._opening = list[int]()
        self._next = self._opened = 0

    def add(self, tag: re.Match[str]) -> None:
        if tag[1]:
            self._closing.append(tag)
        elif not tag[0].endswith("/>"):
            self._opening.append(tag.start())

    def of(self, start: int) -> re.Match[str] | None:
        """The last closing tag that may end the element whose content starts here. Asked for in the order of the text."""
        while self._opened < len(self._opening) and self._opening[self._opened] < start:
            self._opened += 1
        depth, last = 1, None
        while self._next < len(self._closing):
            closing = self._closing[self._next]
            while self._opened < len(self._opening) and self._opening[self._opened] < closing.start():
                if depth <= 0:
                    return last
                depth += 1
                self._opened += 1
            self._next += 1
            if closing.start() >= start:
                depth, last = depth - 1, closing
        return last


def _rules(text: str, element: _Element, before: int) -> int | None:
    """Where the project's rules begin in an element that hands them over; None for any other."""
    name = element.name.lower()
    if name in _RULES:
        return element.inner
    if name == "instructions":
        return element.inner if _RULE_FILE.search(text, max(before, element.start - 600), element.start) else None
    if name == "system-reminder":
        named = _RULE_FILE.search(text, element.inner, element.closed)
        return None if named is None else named.end()
    return None
