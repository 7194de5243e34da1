"""Injected text: finds the elements that germane injects in a text by their form, and leaves them out (INJECT-5).

An element is `<memory nonce="…">…</memory>` with a nonce of twelve letters, of whatever session, scope or store, or a block as
a builder writes it. In a transcript of another session or another store only the form can be known. Whoever imitates the form
keeps nothing but their own text out of what is stored, and a marker says that something was left out. The lines of a file that
the memory tool shows, the summary that a compaction puts in place of messages, and what `show_earlier` answers are germane's
too.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from typing import Any

LEFT_OUT = "[left out: text from germane's own store]"
"""What stands in the place of an element in the midst of somebody's words."""
_NAMES = frozenset({"blocks", "conversation", "directive", "memory", "notice", "tasks"})
_SECTION = "_memories"
SUMMARY = "conversation-summary"
"""The name of the element that stands for messages which a compaction took out."""
HANDLE = "h[0-9a-f]{12}"
"""The form of the handle under which an archive keeps what a compaction took out."""
_Q = r'\\{0,4}"'
"""A quote, also inside the JSON of a tool's arguments."""
_OPENING = re.compile(
    rf"<(?:(?P<name>[a-z][a-z0-9_]{{0,63}}+) nonce={_Q}(?P<nonce>\w{{1,64}}+){_Q}"
    rf"|(?P<summary>{SUMMARY}) messages={_Q}\d{{1,9}}+{_Q} kept={_Q}\d{{1,9}}+{_Q}(?: handle={_Q}{HANDLE}{_Q})?"
    rf'|(?P<block>block:[^\s<>"]{{1,1024}}+) permission={_Q}\w{{1,20}}+{_Q}(?: shared_from=[^<>\n]{{0,1024}}+)?)>'
)
_CLOSING = re.compile(rf'<\\?/((?:block:[^\s<>"]{{1,1024}}+)|(?:{SUMMARY})|(?:[a-z][a-z0-9_]{{0,63}}+))>')
_NONCE = re.compile("[a-z]{12}")
_SHOWN = re.compile(
    r"Here(?:'s the content of /memories[^\n]{0,1024}+| is the snippet showing the change \(with line numbers\):)\n"
)
_NUMBERED = re.compile(r"[ \d]{5}\d{1,9}+\t[^\n]*+\n?+")
"""How the memory tool begins to show a file, and a line of it."""
_EARLIER = re.compile(rf"\[Earlier, by show_earlier: handle (?P<handle>{HANDLE})\]")
_EARLIER_END = re.compile(rf"\[End of handle (?P<handle>{HANDLE})\]")
"""What `show_earlier` writes around its answer."""
_MARK, _BLOCK, _SUMMED, _FILE, _TOOL = "nonce=", "<block:", f"<{SUMMARY} ", "with line numbers", "[Earlier, by show_earlier"
_DIRECTIVE = "<directive>"
_BETWEEN = re.compile(r"(?:\s|\\n)*+")
"""What stands between elements that follow one another."""


def injected_spans(text: str, nonce: str | None = None, *, open_ends: bool = False) -> list[tuple[int, int]]:
    """Returns where the elements of germane's stand in the text, in order: those with this nonce, or those with any. An element
    whose end is missing counts where `open_ends` says so, and ends with the text. Linear."""
    elements = _elements(text, nonce, open_ends) if any(mark in text for mark in (_MARK, _BLOCK, _SUMMED)) else []
    if nonce is not None or not (_FILE in text or _TOOL in text):
        return elements
    found = list[tuple[int, int]]()
    for span in sorted((*elements, *_shown_files(text), *_shown_earlier(text))):
        if not found or span[0] >= found[-1][1]:
            found.append(span)
    return found


def without_injected(text: str) -> str:
    """Returns the text with a marker in the place of each element, or of several that follow one another; the same object where
    it holds none."""
    spans = injected_spans(text)
    if not spans:
        return text
    pieces, end = list[str](), 0
    for start, stop in spans:
        between, end = text[end:start], stop
        if not pieces or between.strip():
            pieces += (between, LEFT_OUT)
    return "".join((*pieces, text[end:]))


def system_words(text: str, nonce: str | None = None) -> str:
    """Returns what a system text holds beside germane's elements, whose ends may be missing."""
    spans = injected_spans(text, nonce, open_ends=True)
    if not spans:
        return text
    bounds = [0, *(place for span in spans for place in span), len(text)]
    pieces = (text[start:end].strip("\n") for start, end in zip(bounds[::2], bounds[1::2], strict=True))
    return "\n\n".join(filter(None, pieces))


def authors_words(text: str, *, last: bool) -> str:
    """Returns what a user's text holds behind the elements that it begins with: germane's text stands there. In a text that
    isn't the `last` of its message an element's end may be missing."""
    begun = end = _behind_space(text, 0)
    for start, stop in injected_spans(text, open_ends=not last):
        if start != end:
            break
        end = _behind_space(text, stop)
    return text if end == begun else text[end:]


def without_injected_json(value: Any) -> Any:
    """Does `without_injected` to every string in JSON of any depth."""
    if isinstance(value, str):
        return without_injected(value)
    if isinstance(value, Mapping):
        return {without_injected(str(key)): without_injected_json(item) for key, item in value.items()}
    return [without_injected_json(item) for item in value] if isinstance(value, list | tuple) else value


def _elements(text: str, nonce: str | None, open_ends: bool) -> list[tuple[int, int]]:
    found, end = list[tuple[int, int]](), 0
    closings: dict[str, list[int]] | None = None
    for opening in _OPENING.finditer(text):
        start = opening.start()
        if start < end or not _is_own(opening, nonce):
            continue
        if closings is None:
            closings = _closings(text)
        name = opening["name"] or opening["summary"] or opening["block"]
        ends = closings.get(name, [])
        place = bisect_left(ends, opening.end())
        if place == len(ends) and not open_ends:
            continue
        if name == "notice" and (before := text[end:start].rstrip()).endswith(f"</{_DIRECTIVE[1:]}"):
            at = before.rfind(_DIRECTIVE)
            start = start if at < 0 else end + at
        end = ends[place] if place < len(ends) else len(text)
        found.append((start, end))
    return found


def _shown_files(text: str) -> Iterator[tuple[int, int]]:
    """Yields where the memory tool shows a file, or the lines that an edit has changed."""
    end = 0
    for header in _SHOWN.finditer(text):
        if header.start() < end:
            continue
        end = header.end()
        while line := _NUMBERED.match(text, end):
            end = line.end()
        if end > header.end():
            yield header.start(), end


def earlier_text(handle: str, text: str) -> str:
    """Returns what `show_earlier` answers for a handle, between the lines by which it is known again."""
    inner = _EARLIER_END.sub(lambda found: f"({found[0][1:-1]})", _EARLIER.sub(lambda found: f"({found[0][1:-1]})", text))
    return f"[Earlier, by show_earlier: handle {handle}]\n{inner}\n[End of handle {handle}]"


def _shown_earlier(text: str) -> Iterator[tuple[int, int]]:
    """Yields where an answer of `show_earlier` stands; one whose end is missing ends with the text."""
    ends: dict[str, list[int]] = {}
    for closing in _EARLIER_END.finditer(text):
        ends.setdefault(closing["handle"], []).append(closing.end())
    end = 0
    for opening in _EARLIER.finditer(text):
        if opening.start() >= end:
            closings = ends.get(opening["handle"], [])
            place = bisect_left(closings, opening.end())
            end = closings[place] if place < len(closings) else len(text)
            yield opening.start(), end


def _is_own(opening: re.Match[str], nonce: str | None) -> bool:
    if nonce is not None:
        return opening["nonce"] == nonce
    name = opening["name"]
    if name is None:
        return True
    return (name in _NAMES or name.endswith(_SECTION)) and _NONCE.fullmatch(opening["nonce"]) is not None


def _closings(text: str) -> dict[str, list[int]]:
    """Where the closing tags end, by name."""
    found: dict[str, list[int]] = {}
    for closing in _CLOSING.finditer(text):
        found.setdefault(closing[1], []).append(closing.end())
    return found


def _behind_space(text: str, start: int) -> int:
    """The place of the next character that isn't white space, or the sign of it in JSON."""
    found = _BETWEEN.match(text, start)
    return start if found is None else found.end()
