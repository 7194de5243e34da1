"""Pastes: hides the lines of a message that were pasted: what hands them over tells, or the marks of letters, logs, chats,
documents, prompts, tables and verse.

A paste whose end isn't marked reaches to the end of the message, but for a last paragraph that asks about it. Where it is in
doubt whose words a line has, they are somebody else's.
"""

from __future__ import annotations

from collections.abc import Iterable

from germane.text.normal import in_lower_case
from germane.text.own_words.forms import forms
from germane.text.own_words.introductions import (
    ENDS,
    FOREIGN,
    MAX_INTRO,
    MIN_SHOWN,
    begins_prompt,
    foreign_from,
    handed_at,
    names_text,
    opens_text,
    shown_hidden,
)
from germane.text.own_words.pages import page_begins, page_ends
from germane.text.own_words.quotations import BLOCK, Kind, is_table, kind_of, persons_in

_MAX_OWN = 1_500
"""Characters from which on prose must speak of its writer or to its reader."""
_MIN_PLACE = 4
"""Letters of the place before a report."""
_MAX_PROSE, _PERSON_EVERY = 600, 400
"""Characters of a line that must too, and how often."""
_MIN_SENTENCE = 16
"""Characters of a sentence of prose, on average."""
_MIN_HANDED = 400
"""Characters of a text that a mere "summarise" hands over where a task is set."""
_MAX_ASKED = 60
"""Characters of a last paragraph that says nothing but its question about what stands above."""
_STOPPED = (".", "!", "?", ":", ";", "。", "！", "？", "：", "…")
_VERSES, _MAX_VERSE = 8, 64
"""Lines of the shortest verse, and characters of its lines on average."""
_MARKS = " \t>|<{}[]$%#-*+@0123456789"
"""What a line that isn't plain may begin with."""
_SENTENCES_ASKED = 2
_LETTER = frozenset({"letter", "header", "greeting", "bare greeting"})
_DOCUMENT = frozenset({"title", "heading", "section", "clause", "amount"})


def pastes_hidden(text: str, *, for_task: bool) -> str:
    """Returns `text`, of the same length, with pasted lines as line ends. With `for_task` the reader asks what binds a task:
    then a role and headings are part of what the user asks for. Linear."""
    if (
        "\n" not in text
        and len(text) <= _MAX_PROSE
        and ":" not in text
        and "：" not in text
        and (text[:1] not in _MARKS and not text[:_MIN_PLACE].isupper() and kind_of(text, in_lower_case(text)) == "plain")
    ):
        shown, low = shown_hidden(text, for_task=for_task), in_lower_case(text)
        if forms().printed.search(low):
            return "\n" * len(text)
        begins = foreign_from(text, low, opens=True, for_task=for_task) if shown == text else None
        return shown if begins is None else text[:begins] + "\n" * (len(text) - begins)
    return _Message(text, for_task=for_task).read()


class _Message:
    """The lines of a message, and how many characters of each are kept."""

    __slots__ = ("_for_task", "_kept", "_kinds", "_lines", "_low")

    def __init__(self, text: str, *, for_task: bool) -> None:
        self._lines = text.split("\n")
        self._low = in_lower_case(text).split("\n")
        self._kinds: list[Kind] = [kind_of(line, low) for line, low in zip(self._lines, self._low, strict=True)]
        self._kept = [len(line) for line in self._lines]
        self._for_task = for_task

    def read(self) -> str:
        self._walk()
        # Only where nothing else was found: what stands above a last question is mostly the user's own account.
        if all(kept == len(line) for kept, line in zip(self._kept, self._lines, strict=True)) and BLOCK not in "".join(
            self._lines
        ):
            self._hide_shown()
        kept = (line[:size] + "\n" * (len(line) - size) for line, size in zip(self._lines, self._kept, strict=True))
        return "\n".join(kept)

    def _walk(self) -> None:
        page = page_begins(self._lines, self._low, self._kinds, for_task=self._for_task)
        start, signed = min((place for place in (self._document(), page) if place >= 0), default=-1), self._signed()
        # "Thanks, Anna" ends requests to the assistant, too; above a real letter's end its own marks would have been found.
        if signed >= 0 and (forms().thanks.match(self._low[signed].strip()) or not _LETTER.isdisjoint(self._kinds[:signed])):
            signed = -1
        end = max(signed, self._foot(), page_ends(self._lines, self._low))
        if start < 0 and end > 0:
            start = self._first_said(end)
        size, at, count = 0, 0, len(self._lines)
        while at < count:
            kind = self._kinds[at]
            if kind in ("blank", "hidden"):
                at += 1
            elif kind in FOREIGN:
                at = self._hide_marked(at)
            elif 0 <= start <= at or self._begins(at):
                self._hide_paste(at)
                return
            elif (handed := self._handed_in(at)) is not None:
                self._kept[at] = handed
                at = self._hide_handed(at + 1)
            elif self._hands_over(at):
                at = self._hide_handed(at + 1)
            elif self._is_told(at, size):
                self._hide(range(at, count))
                return
            else:
                size += len(self._lines[at])
                at += 1

    def _foot(self) -> int:
        """The first line that stands below mails and pages alone, or that only a page has; -1 where there is none."""
        short = [number for number, low in enumerate(self._low) if 0 < len(low) <= MAX_INTRO]
        printed = next((number for number in short if forms().printed.search(self._low[number])), None)
        if printed is not None:
            return max(printed, 1)
        return next((number for number in short if any(foot in self._low[number] for foot in forms().feet)), -1)

    def _first_said(self, end: int) -> int:
        """The first line of a letter without a greeting that ends with the line `end`: behind the paragraph that introduces it,
        where one does."""
        first = self._next(-1)
        behind = first
        while behind < end and self._kinds[behind] != "blank":
            behind += 1
        low = " ".join(self._low[first:behind])
        asks = low.rstrip().endswith(("?", "？")) or any(form.search(low) for form in (forms().given, forms().asks))
        asks = asks or forms().alone.fullmatch(low.strip()) is not None
        return self._next(behind) if asks and self._next(behind) < end else first

    def _hide(self, lines: Iterable[int]) -> None:
        for number in lines:
            self._kept[number] = 0

    def _hide_marked(self, at: int) -> int:
        """Hides a line with a mark of its own; a quotation and what was said in a chat go on to the next blank line."""
        goes_on = self._kinds[at] != "marked"
        self._kept[at] = 0
        at += 1
        while goes_on and at < len(self._lines) and self._kinds[at] not in ("blank", "hidden"):
            self._kept[at] = 0
            at += 1
        return at

    def _document(self) -> int:
        """The first line of a document, a chat or a verse that shows only by several of its lines; -1 where there is none."""
        kinds = self._kinds
        # How many lines of a kind it takes: one clause, label or amount stands in people's own messages as well.
        needed: dict[Kind, int] = {"clause": 2, "amount": 3, "label": 2, "small label": 2}
        needed["section"] = 1 if "heading" in kinds else 2
        if not self._for_task:
            needed["heading"] = 1
            if kinds[0] == "title" and kinds[1:2] == ["blank"] and self._is_prose(self._next(0)):
                return 0
        starts = [kinds.index(kind) for kind, least in needed.items() if kinds.count(kind) >= least]
        if "heading" in needed and "heading" in kinds:
            starts += [at for at, kind in enumerate(kinds) if kind == "own heading" and not persons_in(self._low[at])][:1]
        if "heading" in kinds and kinds.count("section") >= needed["section"]:
            starts.append(kinds.index("heading"))
        if (verse := self._verse()) is not None:
            starts.append(verse)
        return min(starts, default=-1)

    def _verse(self) -> int | None:
        """Where a verse begins: many short lines without stops, in stanzas."""
        start: int | None = None
        count = size = stopped = gaps = 0
        for number, kind in enumerate([*self._kinds, "rule"]):
            line = "" if number >= len(self._lines) else self._lines[number]
            if kind == "blank" and start is not None:
                gaps += 1
            elif kind in ("plain", "title") and len(line) <= 2 * _MAX_VERSE:
                start = number if start is None else start
                count, size = count + 1, size + len(line)
                stopped += line.rstrip().endswith(_STOPPED)
            else:
                if start is not None and count >= _VERSES and gaps and size <= count * _MAX_VERSE and 4 * stopped <= count:
                    return start
                start = None
                count = size = stopped = gaps = 0
        return None

    def _begins(self, at: int) -> bool:
        """Whether a letter, a prompt, a table or a chat begins with this line."""
        kind, first = self._kinds[at], not any(self._kinds[number] != "blank" for number in range(at - 1, -1, -1)[:8])
        if kind == "letter":
            return True
        if kind in ("header", "small header"):
            near = self._kinds[at + 1 : at + 5]
            alone = not first or not self._for_task or near[:1] == ["blank"]
            return near.count("header") + near.count("small header") > 0 or (kind == "header" and alone)
        if kind == "greeting":
            below = self._kinds[at + 1 : at + 2] == ["blank"] or not self._for_task
            return not first or "closing" in self._kinds[at:] or (below and self._follows(at))
        if kind == "bare greeting":
            return first and self._signed() > at
        if kind == "rule":
            # In a task `---` separates the user's own parts.
            dashes = self._lines[at].count("-")
            return not first and self._follows(at) and (dashes >= 5 if self._for_task else True)
        if kind == "label":
            return self._quotes_somebody(at)
        if begins_prompt(self._low[at]) and not (self._for_task and first and self._sets_a_task(at)):
            return True
        return at + 1 < len(self._lines) and is_table(self._lines[at], self._lines[at + 1])

    def _sets_a_task(self, at: int) -> bool:
        """Whether a prompt that begins here is what the user asks for: no bot's, and the message doesn't ask about it."""
        asked = self._last_paragraph(at) < len(self._lines) or self._lines[-1].rstrip().endswith(("?", "？"))
        return not asked and forms().bots.search(self._low[at], 0, MAX_INTRO) is None

    def _follows(self, at: int) -> bool:
        return any(kind not in ("blank", "hidden") for kind in self._kinds[at + 1 : at + 8])

    def _signed(self) -> int:
        """The last line that ends a letter, with a name below it; -1 where there is none."""
        for number in range(len(self._lines) - 2, -1, -1):
            below = self._lines[number + 1].strip()
            if self._kinds[number] == "closing" and below and len(below) <= MIN_SHOWN and not below.endswith(_STOPPED):
                return number
        return -1

    def _quotes_somebody(self, at: int) -> bool:
        """Whether a line with a name before its colon says what that person said: in the first person, or to somebody."""
        return len(self._lines[at].partition(":")[0].split()) == 1 and persons_in(self._low[at].partition(":")[2][:240]) > 0

    def _handed_in(self, at: int) -> int | None:
        """Where in the line somebody else's words begin; None where none do."""
        opens = self._next(-1) == at
        begins = foreign_from(self._lines[at], self._low[at], opens=opens, for_task=self._for_task)
        handed = self._handed(at)
        return begins if handed is None else handed if begins is None else min(handed, begins)

    def _handed(self, at: int) -> int | None:
        """Where the line hands the rest of itself over; None where it doesn't."""
        low = self._low[at]
        if ":" not in low and "：" not in low:
            return None
        found = handed_at(low)
        if found is None and not self._for_task and low.rstrip().endswith((":", "：")) and self._is_prose(self._next(at)):
            words = [word.strip(":,.!：*_#") for word in low.split()]
            if not forms().persons.fullmatch(words[0]) and not any(word in forms().labels for word in words):
                return len(self._lines[at])
        return found

    def _next(self, at: int) -> int:
        """The next line that isn't blank; the number of lines where there is none."""
        at += 1
        while at < len(self._lines) and self._kinds[at] == "blank":
            at += 1
        return at

    def _is_prose(self, at: int) -> bool:
        return at < len(self._lines) and self._kinds[at] not in ("item", "hidden", "blank")

    def _hide_handed(self, at: int) -> int:
        """Hides what was handed over before the line `at`; returns where the message goes on: behind a block with an end of its
        own, else at its end."""
        following = self._next(at - 1)
        if following < len(self._lines) and self._kinds[following] == "hidden" and at <= following:
            return following + 1
        self._hide_paste(at)
        return len(self._lines)

    def _hands_over(self, at: int) -> bool:
        """Whether the line hands over what stands below it, without a colon."""
        following = self._next(at)
        if following >= len(self._lines):
            return False
        low = self._low[at][-MAX_INTRO:]
        if forms().given.search(low) or forms().alone.fullmatch(low.strip()):
            return True
        if not self._for_task and len(low) <= _MAX_ASKED and names_text(low):
            return True
        if self._for_task:
            return forms().works.search(low) is not None and sum(map(len, self._lines[following:])) >= _MIN_HANDED
        asks = any(form.search(low) for form in (forms().works, forms().asks, forms().reworks))
        return asks or (self._next(-1) == at and opens_text(low))

    def _is_told(self, at: int, size: int) -> bool:
        """Whether a long line is prose that speaks neither of its writer nor to its reader."""
        line = self._lines[at]
        if self._for_task or len(line) < (_MAX_PROSE if size <= _MAX_OWN else MIN_SHOWN * 2):
            return False
        stops = 1 + line.count(". ") + line.count("。")
        if len(line) < stops * _MIN_SENTENCE:
            return False
        return persons_in(self._low[at]) * _PERSON_EVERY < len(line)

    def _hide_paste(self, at: int) -> None:
        """Hides the message from this line on, but for a last paragraph that asks about the paste; of a document also what
        stands above, where it doesn't speak to anybody."""
        if at < len(self._kinds) and self._kinds[at] in _DOCUMENT:
            above = " ".join(self._low[:at])
            if not (persons_in(above) or "?" in above or "？" in above):
                self._hide(range(at))
        last = self._last_paragraph(at)
        self._hide(range(at, last))

    def _last_paragraph(self, start: int) -> int:
        """The first line of a last paragraph that asks about what stands above it; the number of lines where there is none."""
        count = len(self._lines)
        end = count
        while end > start and self._kinds[end - 1] == "blank":
            end -= 1
        first = end
        while first > start and self._kinds[first - 1] not in ("blank", "hidden"):
            first -= 1
        if first == end or first <= start + 1 or self._kinds[first] not in ("plain", "item"):
            return count
        low = " ".join(self._low[first:end]).strip()
        if len(low) > MAX_INTRO or len(ENDS.findall(low)) >= _SENTENCES_ASKED:
            return count
        about = any(form.search(low) for form in (forms().works, forms().given, forms().asks))
        about = about or (not self._for_task and forms().reworks.search(low) is not None)
        return first if about and not begins_prompt(low) else count

    def _hide_shown(self) -> None:
        """Hides what stands above a last paragraph that asks about it, where nothing else was found to be pasted."""
        first = self._last_paragraph(0)
        if first >= len(self._lines):
            if len(self._lines) == 1:
                self._lines[0] = shown_hidden(self._lines[0], for_task=self._for_task)
            return
        low = " ".join(self._low[first:]).strip()
        alone = len(low) <= _MAX_ASKED or forms().given.search(low) or (not self._for_task and forms().works.search(low))
        if alone and sum(map(len, self._lines[:first])) >= MIN_SHOWN:
            self._hide(range(first))
