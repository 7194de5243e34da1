"""In line: where in a line a text of somebody else's begins that has no lines of its own.

People paste a letter, a review, a chat or a recipe into the sentence that asks about it. Its own words show it: a greeting and
a name at its end, names of speakers that come again, names of its parts, or the first sentence, which names the text or points
to it.
"""

from __future__ import annotations

import re
from collections import Counter

from germane.text.own.forms import forms

__all__ = ["foreign_from"]

_MAX_HEAD, _MIN_REST = 200, 16
"""Characters of the sentence that names a text, and of the text."""
_COLON = re.compile(r":(?=\s)|：")
_MIN_LETTER = 24
"""Characters of a letter before the words that end it."""
_SENT = frozenset({"message", "post", "table", "draft", "copy", "issue", "ticket", "comment"})
"""What names a note of one's own alone, and behind other words somebody else's."""
_STOP = re.compile(r"[.!?…:](?=\s|\Z)|[。！？：]")
_HEAD_END = re.compile(r"[:：,.]| [-–—] ")
_SENTENCE = re.compile(r"(?:\A|(?<=[.!?:…] )|(?<=[。！？：]))(?=\S)")
_SIGNED = re.compile(
    r"(?:[,.!] ?|[-–—] |\s)(?P<name>[A-ZÀ-ÞА-ЯŁŚŻ][\w.'’-]{0,20}(?: [A-ZÀ-ÞА-ЯŁŚŻ][\w.'’-]{0,20}){0,2})\s{0,4}\Z"
)
"""A name at the end, without a stop but for an initial's."""
_ASKED = re.compile(r"[.!] (?=[^.!?\n]{2,120}\?\s{0,4}\Z)")
"""Where a last sentence begins that is a question."""
_GREETED = re.compile(r"(?:\s[A-ZÀ-ÞА-ЯŁŚŻ][\w.'’-]{0,24}){1,4}\s?[,!:;–-]")
_SPEAKER = re.compile(r"(?:(?<=[.!?…:|] )|(?<![^\s]))(?P<who>[A-ZÀ-ÞА-ЯŁŚŻ][\w'’-]{1,20}(?: \d{1,2})?): (?=\S)")
_RAISED = re.compile(r"(?<!\w)\w{1,40}(?:Error|Exception|Warning): ")
_AMOUNT = re.compile(
    r"\s?\d{1,4}(?:[.,/]\d{1,3})? ?(?:g|kg|ml|cl|dl|l|oz|lbs?|cups?|tbsp|tsp|el|tl|eggs?|eier|œufs|huevos|uova)(?!\w)"
)
_PART = re.compile(r"(?<![^\s.])(?P<name>[^\W\d_][\w'’-]{2,20}) ?[:：](?=\s)")


def foreign_from(line: str, low: str, *, opens: bool, for_task: bool) -> int | None:
    """Returns the place from which a line is somebody else's; None where it isn't. `low` is the line in lower case; `opens`
    tells that no line of the message stands above it. With `for_task`, letters and chats alone count. Linear."""
    places = [_letter(line, low), _turns(line)]
    if not for_task:
        raised = _RAISED.search(line)
        places += [_parts(low), None if raised is None else raised.start()]
        if opens:
            places += [_named_first(low), _asked_first(low), _headed(low)]
    return min((place for place in places if place is not None), default=None)


def _headed(low: str) -> int | None:
    """Where the words before the first colon end that tell what is done to the text behind it, or whose it is; or a recipe's
    name."""
    colon = _COLON.search(low, 0, _MAX_HEAD)
    if colon is None or len(low) - colon.end() < _MIN_REST:
        return None
    clause = max(low.rfind(mark, 0, colon.start()) + 1 for mark in ".!?…")
    handed = _AMOUNT.match(low, colon.end()) or forms().reworks.search(low, clause, colon.start())
    return None if handed is None else colon.end()


def _named_first(low: str) -> int | None:
    """Where the text begins whose name a line, in lower case, begins with: "Job advert: …", "Review, is it fair? …"."""
    end = _HEAD_END.search(low, 0, _MAX_HEAD)
    if end is None or end.start() > 60:
        return None
    head = low[: end.start()].strip()
    words = head.split()
    own = forms().own_heads if len(words) == 1 else forms().own_heads - _SENT
    if not words or any(word in own or forms().persons.fullmatch(word) for word in words):
        return None
    if len(words) > 1 and head in forms().sections and end[0] in ":：.":
        return end.end()
    if end[0] == "." or forms().texts.fullmatch(head) is None:
        return None
    if end[0] in ":：":
        return end.end()
    stop = _STOP.search(low, end.end(), end.end() + _MAX_HEAD)
    if stop is None:
        return len(low)
    return stop.end() if stop[0][:1] in "?？:：." else None


def _asked_first(low: str) -> int | None:
    """Where the first sentence ends, if it asks about a text to which it points: "Is this review fake? …"."""
    stop = _STOP.search(low, 0, _MAX_HEAD)
    if stop is None or len(low) - stop.end() < _MIN_REST or forms().orders_text.match(low):
        return None
    head = low[: stop.end()]
    if forms().sent.search(head) is not None and stop[0][:1] in "?？:：":
        return stop.end()
    if forms().pointed.search(head) is None:
        return None
    asks = stop[0][:1] in "?？:：" or any(form.search(head) for form in (forms().works, forms().asks, forms().reworks))
    return stop.end() if asks else None


def _letter(line: str, low: str) -> int | None:
    """Where a letter begins that is greeted or signed in one line with what it says."""
    first: int | None = None
    for start in _SENTENCE.finditer(low):
        greets = forms().greets.match(low, start.start())
        if greets is None:
            continue
        if forms().diaries.match(low, greets.end()):
            return start.start()
        name = _GREETED.match(line, greets.end())
        if low.startswith(" sir or madam", greets.end()):
            return start.start()
        named = name is not None and not all(word in forms().assistants for word in low[greets.end() : name.end() - 1].split())
        if named and name is not None and len(line) - name.end() >= _MIN_REST and forms().formal.match(low, start.start()):
            return start.start()
        first = start.start() if first is None and named else first
    asked = next((found for found in _ASKED.finditer(line, max(0, len(line) - _MAX_HEAD))), None)
    end = len(line) if asked is None else asked.start() + 1
    signed = _SIGNED.search(line[:end].rstrip(" .!") if asked else line, max(0, end - 70))
    if signed is None:
        return None
    ends = signed.start() if signed[0][:1] != "." else signed.start() + 1
    begins = max((found.start() for found in _SENTENCE.finditer(low, 0, ends)), default=0)
    closing = low[begins:ends].strip(" ,.!-–—")
    if begins < _MIN_LETTER or not forms().closes.fullmatch(closing) or forms().thanks.match(closing):
        return None
    full = len(signed["name"].split()) > 1 and len(closing.split()) > 1
    return first if first is not None else 0 if full else None


def _turns(line: str) -> int | None:
    """Where speakers take turns in one line: one of them speaks again behind another."""
    if line.count(": ") < 3:
        return None
    said = [(found.start(), found["who"].lower()) for found in _SPEAKER.finditer(line)]
    said = [(place, who) for place, who in said if who not in forms().labels]
    count = Counter(who for _, who in said)
    if len(count) > 1 and max(count.values()) > 1:
        return said[0][0]
    return None


def _parts(low: str) -> int | None:
    """Where two parts of a recipe, a test or another document are named in one line."""
    if low.count(":") + low.count("：") < 2:
        return None
    named = [found for found in _PART.finditer(low) if found["name"] in forms().sections or found["name"] in forms().parts]
    return named[0].start() if len({found["name"] for found in named}) > 1 else None
