"""Lines: what kind of line a line of a message is, by its marks: of code, letters, logs, chats, documents, tables."""

from __future__ import annotations

import re
from typing import Literal

from germane.text.own.forms import forms
from germane.text.own.quotations import BLOCK

__all__ = ["Kind", "is_table", "kind_of", "persons_in"]

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
    if greets is None and _ADDRESSED.fullmatch(line) and bare.rstrip(" ,") not in forms().openers | forms().joints:
        return "bare greeting"
    if greets is None or bare.endswith("?"):
        return "title" if _TITLE.fullmatch(line) and _is_title(title) else None
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
