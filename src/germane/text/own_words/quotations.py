"""Quotations: quoted parts of a text, between marks or as lines of their own, each hidden in its place."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from germane.text.own_words.forms import forms

BLOCK = "\x01"
"""Stands, while a message is read, for each character of a hidden block, its line ends too."""
_IN_APOSTROPHES = r"(?<![\w’'].)(?=\w)(?:[^'’‘\n]|(?<=\w)['’](?=\w)){1,600}['’](?!\w)"
"""Behind an apostrophe that begins a quotation, as none inside a word does."""
_QUOTED = re.compile(
    r'"[^"\n]{1,600}"|“[^“”\n]{1,600}”|„[^„“”\n]{1,600}[“”]|«[^«»\n]{1,600}»|»[^»«\n]{1,600}«|`[^`\n]{1,600}`'
    r"|「[^「」\n]{1,600}」|『[^『』\n]{1,600}』|＂[^＂\n]{1,600}＂|〝[^〝〞〟\n]{1,600}[〞〟]|‹[^‹›\n]{1,600}›|‚[^‚‘’\n]{1,600}[‘’]"
    f"|'{_IN_APOSTROPHES}|‘{_IN_APOSTROPHES}"
)
"""No opening mark stands inside, so that a run of them isn't read again from each. Each alternative begins with a character of
its own, as those of `_OPEN_QUOTE` do, so that the search passes over all others."""
_OPEN_QUOTE = re.compile(r'"(?<!\w.)(?=\w)[^\n]*|[“„«「『＂〝‹][^\n]*')
_OVER_LINES = re.compile(
    r"“[^“”]{1,4000}”|„[^„“”]{1,4000}[“”]|«[^«»]{1,4000}»|「[^「」]{1,4000}」|『[^『』]{1,4000}』"
    r'|^[ \t]*"[^"\n]*\n[^"]{0,4000}"(?=[\s.,;:!?)]|\Z)',
    re.MULTILINE,
)
"""Quotations of more lines than one; a straight mark opens one at the beginning of a line alone."""
_MARK = re.compile("[\"“„«»`'‘「『＂〝‹‚]")
"""What a quotation begins with."""
_FENCES = ("```", "~~~")


def quotes_hidden(text: str) -> str:
    """Returns `text` with NULs in place of quotations, and of one that isn't closed up to the end of its line. Linear."""
    if _MARK.search(text) is None:
        return text
    if "\n" in text:
        text = _OVER_LINES.sub(lambda found: "\0" * len(found[0]), text)
    text = _QUOTED.sub(lambda found: "\0" * len(found[0]), text)
    return _OPEN_QUOTE.sub(lambda found: "\0" * len(found[0]), text)


def without_fences(text: str, hide: str = "\n") -> str:
    """Returns `text` with fenced blocks hidden; one that isn't closed reaches to the end. Linear."""
    for fence in _FENCES:
        pieces = text.split(fence)
        if len(pieces) == 1:
            continue
        hidden = [piece if number % 2 == 0 else hide * len(piece) for number, piece in enumerate(pieces)]
        text = (hide * len(fence)).join(hidden)
    return text


# Parts of a message between tags.


_TAG = re.compile(r"(?:(?<!\w)<|<(?=/))(/?)([A-Za-z][\w-]{0,40})(?=[\s/>])[^<>\n]{0,400}>")
_EMPTY_ELEMENTS = frozenset({"br", "hr", "img", "input", "meta", "link", "wbr"})
_OWN_ELEMENTS = frozenset({
    "task", "query", "request", "question", "answer", "feedback", "command-args", "user_query", "user_message",
    "user_input", "user_request", "user_feedback", "user-query", "user-message", "user-input", "user-request",
    "user-feedback", "user_prompt", "user-prompt", "userrequest",
})  # fmt: skip
"""Elements in which clients wrap what the user typed."""
_RULE_ELEMENTS = frozenset({"user_rules", "user_instructions", "user-rules", "user-instructions"})
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
        # What stands outside the elements decides whether the client wrote the message. A few characters tell that, and the
        # text mustn't be copied again for each element.
        if len(outside) <= _MAX_OUTSIDE:
            outside += text[before : element.start].strip()
        if for_task and (rules := _rules(text, element, before)) is not None:
            kept.append(Region(rules, text[rules : element.closed], rules=True))
        elif element.name.lower() in _OWN_ELEMENTS and (not outside or _OF_CLIENT.fullmatch(outside)):
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
        if tag[0].endswith("/>") or name in _EMPTY_ELEMENTS:
            found.append(_Element(tag[2], tag.start(), tag.end(), tag.end(), tag.end()))
            place = tag.end()
            continue
        closing = by_name[name].of(tag.end())
        # Without a closing tag the element reaches to the end: what a paste left open isn't the user's own.
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
        # The counters only go forward, over all calls together: that keeps many elements of one name linear.
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
    if name in _RULE_ELEMENTS:
        return element.inner
    if name == "instructions":
        return element.inner if _RULE_FILE.search(text, max(before, element.start - 600), element.start) else None
    if name == "system-reminder":
        named = _RULE_FILE.search(text, element.inner, element.closed)
        return None if named is None else named.end()
    return None


# Lines: what kind of line a line of a message is, by its marks: of code, letters, logs, chats, documents, tables.


Kind = Literal[
    "plain", "blank", "hidden", "marked", "quoted", "letter", "header", "small header", "greeting", "bare greeting", "closing",
    "stamp", "title", "heading", "own heading", "section", "label", "item", "clause", "amount", "rule", "small label",
]  # fmt: skip
"""A `small header` is a header's name that notes of one's own have too, a `small label` a name in small letters, a `heading`
one of markdown."""
_MAX_SHORT = 80
"""Characters of a heading, a greeting or an end."""
_MARKED = re.compile(
    r"\s*(?:\||</?\w|[{}\[\]] ?(?:$|[\"'{\[\w\0])(?!\d{1,2}[:.]\d\d)|\t|#!|\$ |%|at [\w.$<>]{1,200}\(|Traceback |File [\"\0]"
    r"|goroutine \d|\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:|\d\d:\d\d:\d\d|\[?(?:ERROR|WARN|WARNING|INFO|DEBUG|FATAL)\b"
    r"|[\w.]{1,80}(?:Error|Exception|Warning): |\w{1,20}=\S{1,80} \w{1,20}=|[A-Z_]{2,40}=|[+-]{3} [ab]/|\+[^\W\d_]|@@ |//|/\*"
    r"|#include|(?:npm|yarn|pnpm) (?:ERR!|WARN)|[A-Z][a-z]{2} {1,2}\d{1,2} \d\d:\d\d:\d\d "
    r"|(?:import|from) [\w.]{1,60}(?: import |;|$)|(?:def|class|func|function) \w{1,60}[({:]|(?:const|let|var) \w{1,60} ="
    r"|return [\w.]{1,60};|SELECT .{1,200} FROM )|    \S|\t"
)
"""Code, logs, tables, patches."""
_REPLIED = re.compile(r"\s*>")
_ITEM = re.compile(r"\s*(?:[-*•+–·▪◦●]|\d{1,3}[.)]|[a-z]\))\s+(?:\[[ xX]\]\s+)?")
_LIST_NUMBER = re.compile(r"\s*\d{1,3}[.)]\s")
_MIN_CLAUSE = 80
_PARAGRAPH = re.compile(
    r"\s*(?:§+ ?\d|\d{1,2}\.\d{1,2}[.)]?\s+\S|\(?(?:[ivx]{1,5}|[a-z])\) |(?:art(?:icle|ikel|ículo|icolo|igo|\.)|section|clause"
    r"|klausel|abschnitt|clausula|cláusula|статья|пункт|madde|paragraf) \d|第.{1,4}[条條章])"
)
_AMOUNT = re.compile(
    r"\s*(?:[-*•]\s*)?(?:\d{1,4}(?:[.,/]\d{1,3})?|[½¼¾])\s?(?:x |×|g|gr|kg|ml|cl|dl|l|oz|lb|lbs|cups?|tbsp|tsp|el|tl|prisen?"
    r"|zehen?|cs|cc|cucharad\w+|cucchiai\w*|colher\w*|eetlepels?|łyżk\w+|msk|tsk|ss|ts|rkl|yemek|çay|г|кг|мл|ст|ч|克|毫升|勺|大さじ|小さじ"
    r"|グラム|그램|큰술|eggs?|eier|œufs|huevos|uova|ovos|cloves?|pinch|slices?|cans?)\b"
)
_STAMP = re.compile(
    r"\s*[\[(]?(?:\d{1,4}[./-]\d{1,2}[./-]\d{1,4},? {1,2})?\d{1,2}[:.]\d\d(?:[:.]\d\d)?(?:\s?[ap]\.?m\.?)?[\])]?"
    r"(?:(?<=[\])])|\s?[-–—]|(?= [^\s\d:][^:：\n]{0,40}[:：]\s))\s?[^\s:：][^:：\n]{0,40}[:：]\s?\S",
)
"""A time and a name before what was said in a chat."""
_SPEAKS = re.compile(
    r"\s*(?:[A-ZÀ-ÞА-Я@][\w.'’-]{1,24}(?: [A-ZÀ-ÞА-Я][\w.'’-]{0,24}){1,2}[ \t]{1,4}|[A-ZÀ-ÞА-Я@][\w.'’-]{1,24}[ \t]{2,4}"
    r"|[\u3040-\u9fff\uac00-\ud7a3]{1,8} +)[\[(]?(?:\w{2,12},? )?(?:at )?\d{1,2}:\d\d(?:\s?[APap]\.?[Mm]\.?)?[\])]?\s*$"
    r"|[^\n]{1,40} [—–|•·] [^\n]{0,24}\d{1,2}:\d\d(?:\s?[APap]\.?[Mm]\.?)?\s*$"
    r"|\s*\[(?!image\b)[^\W\d][^\]\n]{1,40}\]\s*$"
    r"|\s*\[[^\]\n]{0,24}\d{1,2}:\d\d[^\]\n]{0,10}\]\s*[A-ZÀ-ÞА-Я][^\n:.!?]{0,40}$"
)
"""A name and a time alone above what was said in a chat, or a part of a song."""
_TIMING = re.compile(r"\s*(?:\d{1,2}:)?\d{1,2}:\d\d[.,]\d{1,3} ?-->|\s*\[?\d{1,2}:\d\d(?:[.:]\d\d)?\]\s*\S|WEBVTT\b")
"""What stands above a subtitle, or before a line of a transcript or song."""
_RULE = re.compile(r"\s*([-=_*~#—])(?:\s?\1){2,80}\s*$")
_HEADING = re.compile(r"\s{0,3}#{1,6}\s+(\S.{0,120})$|\s{0,3}\*\*([^*\n]{2,80})\*\*:?\s*$")
_BEFORE_COLON = re.compile(r"\s*\**([^\s:：*][^:：\n]{0,40}?)\**\s?(?:[(（][^)）\n]{1,30}[)）])?\s?(?:: +|:\t|：\s?)(?=\S)")
_NAME = re.compile(
    r"(?:@\S{2,30}|[A-ZÀ-ÞА-ЯΑ-Ω][\w.'’-]{0,24}(?: (?:van|von|de|da|di|der|al|bin|el)| [A-ZÀ-ÞА-ЯΑ-Ω][\w.'’-]{0,24}){0,3}"
    r"|[\u0590-\u0dff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3]{1,8}|\w{1,20}[\d_]\w{0,10})"
)
"""A speaker's name: words with capitals, a handle, or a short word of a script without capitals."""
_HANDLE = re.compile(r"[a-zà-ÿа-я][\w.-]{1,15}")
_GREETED = re.compile(r"[\s,.!:;，、：！]*+(?P<name>[^,.!?:;，、：！？]{0,60}+)[,.!:;，、：！-]?[\s,.!:;，、：！-]*+\Z")
_ADDRESSED = re.compile(r"\s*[A-ZÀ-ÞА-Я][\w'’-]{1,20}(?: [A-ZÀ-ÞА-Я][\w'’-]{0,20})?(?:,| ?[-–—])\s*")
"""A name alone at the beginning of a letter."""
_TITLE = re.compile(r"\s*[A-ZÀ-ÞА-ЯΑ-Ω0-9][^.!?:\n]{3,70}[^.!?:,;…\s]\s*")
"""A line that a text may have for its title: capitals in front and nothing behind."""
_WORD = re.compile(r"\w[\w'’-]*")


def kind_of(line: str, low: str) -> Kind:
    """Returns the kind of a line; `low` is the line in lower case. Linear."""
    bare = low.strip(" \t\r*_")
    if not bare:
        return "blank"
    if bare[0] in "\0" + BLOCK and not bare.strip("\0 .,!?" + BLOCK):
        return "hidden"
    # The order matters: a form that only foreign text has is asked before those that people's own lists have too.
    if _REPLIED.match(line):
        return "quoted"
    if _TIMING.match(line) or _STAMP.match(low) or (len(line) <= _MAX_SHORT and _SPEAKS.match(line)):
        return "stamp"
    if _MARKED.match(line):
        return "marked"
    if _RULE.match(line):
        return "rule"
    if (":" in bare or "：" in bare or bare[0] in "-—★☆⭐") and forms().letters.match(bare):
        return "letter"
    if _AMOUNT.match(low):
        return "amount"
    if len(line) <= _MAX_SHORT * 2 and (kind := _short(line, bare)):
        return kind
    # A long numbered line that speaks to nobody is a clause of a contract; a short one is an item of a list.
    if _PARAGRAPH.match(low) or (len(line) >= _MIN_CLAUSE and _LIST_NUMBER.match(line) and not forms().persons.search(low)):
        return "clause"
    if _ITEM.match(line):
        return "item"
    return _labelled(line)


def persons_in(low: str) -> int:
    """Returns how often a line speaks of its writer or to its reader; `low` is in lower case. Linear."""
    return sum(1 for _ in forms().persons.finditer(low))


def is_table(line: str, following: str) -> bool:
    """Returns whether a table of values between commas, semicolons or tabs begins with these two lines. Linear."""
    if line.count(" | ") and following.count(" | ") == line.count(" | "):
        return True
    for mark in ",;\t":
        cells = line.count(mark)
        # A space behind each mark is prose: "first, second, third".
        if cells and mark + " " not in line and following.count(mark) >= cells and not line.rstrip().endswith((".", "!", "?")):
            first = following.find(mark)
            if following[first + 1 : first + 2] not in ("", " ") and len(line) <= 400:
                return True
    return False


def _short(line: str, bare: str) -> Kind | None:
    """The kind of a short line that a heading, a greeting or an end of a letter has alone."""
    found = _HEADING.match(line)
    title = (found[1] or found[2] if found else line).strip(" \t\r#*_:：【】[]<>「」0123456789.)").lower()
    if title in forms().sections:
        return "section"
    if found is not None:
        words = _WORD.findall(title)
        own = any(word in forms().labels for word in words) or forms().persons.search(title) is not None
        return "own heading" if own else "heading"
    if len(bare) > _MAX_SHORT:
        return None
    if forms().closes.match(bare):
        return "closing"
    greets = forms().greets.match(bare)
    # `Anna,` alone in a line addresses a letter; `Well,` and `So -` open a sentence of the user's own.
    if greets is None and _ADDRESSED.fullmatch(line) and bare.rstrip(" ,") not in forms().openers | forms().joints:
        return "bare greeting"
    if greets is None or bare.endswith("?"):
        return "title" if _TITLE.fullmatch(line) and _is_title(title) else None
    # "Hi Claude" greets the assistant: what follows is the user's own. "Hi Mr Brown" begins a letter.
    name = _GREETED.match(bare, greets.end())
    if name is None or len(name["name"].split()) > 6:
        return None
    words = _WORD.findall(name["name"])
    return (
        "bare greeting"
        if all(word in forms().assistants for word in words) and not bare.startswith(("dear", "to whom"))
        else "greeting"
    )


def _is_title(title: str) -> bool:
    words = _WORD.findall(title)
    own = any(word in forms().labels for word in words) or forms().persons.search(title) is not None
    return 2 <= len(words) <= 8 and not own and words[0] not in forms().openers


def _labelled(line: str) -> Kind:
    found = _BEFORE_COLON.match(line)
    if found is None:
        return "plain"
    said = found[1].strip(" *_")
    name = said.lower()
    if name in forms().headers:
        return "small header" if name in forms().small_headers else "header"
    words = _WORD.findall(name)
    if not words:
        return "plain"
    if words[0] in forms().speakers and (len(words) == 1 or (len(words) == 2 and words[1].isdigit())):
        return "label"
    if name in forms().sections:
        return "section"
    if words[-1] in forms().labels or words[0] in forms().labels or any(forms().persons.fullmatch(word) for word in words):
        return "plain"
    return "label" if _NAME.fullmatch(said) else "small label" if _HANDLE.fullmatch(said) else "plain"
