"""Introductions: where a writer hands over a text of somebody else's, in lines of its own or inside a line.

A line may also begin a prompt, or ask about what stands before it.
"""

from __future__ import annotations

import re
from collections import Counter

from germane.text.normal import in_lower_case
from germane.text.own_words.forms import forms
from germane.text.own_words.quotations import kind_of

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
_LINE_COLON = re.compile(r":(?=\s|\Z|\0)|：")
_FILE = re.compile(r"[\w./\\-]{0,60}\.(?:md|mdc|txt|rst|\w{0,10}rules|docx?|pdf|html?|csv|tsv|srt|vtt|eml|log)")
"""The name of a file that holds a text."""
_LEAD = " \t*_#\"'“”„«»-–—•"


def handed_at(low: str) -> int | None:
    """Returns where the words begin that hand over what stands behind their colon, in one clause with it; None where none do.
    `low` is a line in lower case. Linear."""
    start = 0
    for colon in _LINE_COLON.finditer(low):
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


# Where in a line a text of somebody else's begins that has no lines of its own. People paste a letter, a review, a chat
# or a recipe into the sentence that asks about it. Its own words show it: a greeting and a name at its end, names of
# speakers that come again, names of its parts, or the first sentence, which names the text or points to it.


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
    # Where a task is set, "Spec: …" and "Error: …" hand the user's own order over. A letter or a chat is never an order.
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
    # "Review. It was …" may be one's own heading; only a colon, a comma or a dash hands over.
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
    # "…, Best, Anna. Is that rude?": the signature stands before a question of the user's own.
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
    # Without a greeting only a whole name with a whole closing ("Kind regards, Anna Berg") makes all of the line a letter.
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
