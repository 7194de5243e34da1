"""Pages: where a page that was copied out of a program begins in a message: by the lines that the program wrote, not a person.

Such lines are a time or a byline alone, what was counted (`3 comments`), the names of buttons, badges, hashtags, the names of
speakers who have a number or speak again, and headings in capitals. Above the text they say where the page begins; where they
stand below it, the page is what stands above, but for a paragraph that introduces it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from germane.text.own_words.forms import forms
from germane.text.own_words.quotations import Kind, persons_in

_MAX_LINE, _MAX_TITLE = 100, 80
"""Characters of a line of a program's, and of a title above it."""
_MIN_TITLE = 6
"""Letters of a title in capitals."""
_MAX_BUTTONS, _MAX_NAMES = 2, 5
"""Names of buttons, and of people and places, that a line may have."""
_MAX_ABOVE = 3
"""Lines that may stand above a byline and belong to it."""
_WORD = re.compile(r"[^\W\d_][\w'’.-]*")
_TIME = re.compile(
    r"\b(?:[01]?\d|2[0-3]):[0-5]\d\b(?::[0-5]\d\b)?|\b(?:19|20)\d\d\b|\b\d{1,2}[./-]\d{1,2}[./-]\d{2,4}\b|\b\d{1,2}月\d{1,2}日"
    r"|\b\d{1,3} ?(?:s|m|min|h|hr|hrs|std|d|w|mo|y|j|sem|tg|wo|ч|мин|д|нед|ur|u|t)\b"
    r"(?=\s*(?:[·•|.,)]|$| (?:ago|назад|geleden)))"
    r"|\b\d{1,3} ?(?:seconds?|minutes?|hours?|days?|weeks?|months?|years?|minuten?|stunden?|tag\w{0,2}|wochen?|monat\w{0,2}"
    r"|jahr\w{0,2}|heures?|jours?|semaines?|mois|ans?|horas?|días?|semanas?|meses|años?|ore|giorni|settiman\w|mesi|anni"
    r"|час\w{0,2}|дн\w{1,2}|недел\w{1,2})\b(?=\s*(?:[·•|]|$| ago\b| назад))"
    r"|\d{1,3} ?(?:分钟|小时|天|周|個月|个月|年)前"
    r"|\d{1,3} ?(?:分|時間|日|週間|か月|年)前?(?=\s*(?:[·•|]|$))|\d{1,3} ?(?:분|시간|일|주|년) ?전"
    r"|\bil y a \d|\bhace \d|\bvor \d"
)
"""A time of day, a date or how long ago, in lower case."""
_DATE = re.compile(r"\b(?:19|20)\d\d\b|\b\d{1,2}[./-]\d{1,2}[./-]\d{2,4}\b|月\d{1,2}日")
_VERSION = re.compile(r"\bv?\d{1,3}\.\d{1,3}\.\d{1,3}\b")
_SET_OFF = re.compile(r"[·•|—@\[(]")
"""What a program writes between a name and a time."""
_TIMED = re.compile(r"\s{0,40}[\[(]?\d{1,2}:\d\d(?::\d\d)?[\])]?\s+\S")
"""A time before what was said then."""
# One line of these proves nothing: people write so themselves. Two and more are a transcript, a song's text, a chat.
_SUNG = re.compile(r"\s{0,40}(?:♪|\[[^\W\d_][^\]\n]{2,40}\]\s{0,40}$)")
_NICK = re.compile(r"\s{0,40}[^\W\d_]\w{0,20}> \S")
_BADGE = re.compile(r"\s{0,40}(?:\[!\[|!\[[^\]\n]{0,80}\]\(|<\|\w{1,30}\|>|\[INST\]|diff --git )")
"""A badge, or a token of a prompt's template."""
_WIRE = re.compile(
    r"\s{0,40}[A-ZÀ-ÞА-Я][\wÀ-ÿА-я .,/-]{2,40} \([\w ./]{2,16}\) ?[-–—] ?\S|\s{0,40}[A-ZÀ-ÞА-Я]{3,20}, [\w. ]{3,14} ?[-–—] \S"
)
"""The place and the agency before a report."""
_HASHTAGS = re.compile(r"\s{0,40}#[^\W\d]\w{1,40}(?:[ ,]{1,4}#[^\W\d]\w{1,40}){0,30}\s{0,40}$")
_HANDLE = re.compile(r"(?:^|[\s(])(?:@|u/|r/)\w{2,30}(?=[\s)]|$)")
_TURN = re.compile(r"\s{0,40}[*_]*(?P<who>[^\W\d_]{2,20} ?\d{1,3}|[^\W\d_][^:：\n]{0,30}?)[*_]*\s?[:：]\s?\S")
# Contracts and laws: `§ 4`, `Article 12`, `第3条`.
_CLAUSE_HEAD = re.compile(
    r"\s{0,40}(?:§+ ?\d|(?:art(?:icle|ikel|ículo|icolo|igo|\.)|section|clause|klausel|abschnitt|cl[áa]usula|статья|пункт|madde"
    r"|chapter|paragraf) ?\d{1,3}\b|第.{1,4}[条條章節])"
)
_TITLED_NUMBER = re.compile(r"\s{0,40}\d{1,2}[.)] [^\W\d_][^.!?:,;\n]{1,40}$")
_NAMED = re.compile(r"\s{0,40}[A-ZÀ-ÞА-Я][A-ZÀ-ÞА-Я .'’-]{1,30}\s*")
"""The name of who speaks, as in a script."""
_LOGGED = re.compile(
    r"\s{0,8}(?:(?:npm|yarn|pnpm|pip|cargo|git|docker|apt|gcc|node) (?:err!?|warn|error|notice)|[$❯] [a-z]|/\*"
    r"|(?:pip3?|npm|yarn|pnpm|cargo|brew|apt|apt-get|gem|go) (?:install|add|get|run) \S"
    r"|[a-z]{3} {1,2}\d{1,2} \d\d:\d\d:\d\d |(?:fatal|remote|panic|\w{1,40}(?:error|exception|warning)): |given .{1,200}"
    r"|feature: |scenario: |ac ?\d{1,2}[:.]|as an? [a-z]{2,20},? i [^\n]{1,200} so that |test ?(?:case|fall) ?#?\d)"
)
"""A line of a log, a shell, a comment in code, or a test; in lower case."""
_PREFIXED = re.compile(r"\s{0,8}[a-z]{2,20}!?: \S")
# Labelled examples: `Great phone, would buy again -> positive`.
_ANNOTATED = re.compile(r"[^\n]{1,400}?[^\s] {0,4}(?:->|→|=>) {0,4}[\w ]{1,16}\Z")
_STAGED = re.compile(r"\s{0,40}(?:\(\w{2,20}(?: \w{2,20})?\)|\[[^\[\]\n]{2,60}\])\s{0,8}\Z")
# A song's `(2x)` behind its refrain.
_REPEATED = re.compile(r"\s{0,40}[(\[]?(?:\d{1,2} ?x|x ?\d{1,2})[)\]]?\s{0,8}\Z")
_NAME_TIMED = re.compile(r"\s{0,8}[^\W\d_]\w{1,20}\s{1,4}\d{1,2}[:.]\d\d(?:\s?[ap]\.?m\.?)?\s{0,8}\Z", re.IGNORECASE)
_NUMBERED_POST = re.compile(r"\s{0,8}[^\W\d_]{3,16} ?#\d{1,5}(?: [^\n]{0,60})?\Z")
# A comment with its age: `anna, 3 h ago: Same here`.
_AGO = re.compile(
    r"[^\s:][^:\n]{0,40}?[,·|–-]? ?\d{1,3} ?[^\W\d_]{1,8}(?: ago| назад| geleden)?: \S"
    r"|[^\s:][^:\n]{0,40} (?:vor|hace|il y a) \d{1,3} \w{1,8}: \S"
)
_BY = re.compile(
    r"\s{0,8}(?:[Bb]y|[Vv]on|[Pp]ar|[Pp]or|[Dd]i|[Dd]oor|[Aa]v) [A-ZÀ-Þ][\w'’.-]{1,24}(?: [A-ZÀ-Þ][\w'’.-]{1,24}){1,2}\s*\Z"
)
_COUNTED = re.compile(
    r"\s{0,8}(?:(?:the )?(?:top )?\d{1,3}|five|ten|seven|three|zehn|fünf|dix|cinq|diez|cinco|dieci) (?:\w+ ){0,2}"
    r"(?:tips|ways|rules|things|reasons|steps|facts|mistakes|hacks|tipps|gründe|regeln|fehler|schritte|conseils|astuces|raisons|consejos|razones|pasos|consigli|motivi)(?!\w)"
)
# `Player 1: …`, `Row 2 - …`. `Day 1: …` is how people number their own plans.
_NUMBERED_ROW = re.compile(
    r"\s{0,8}(?!(?:[Dd]ay|[Tt]ag|[Jj]our|[Dd]ía|[Ww]eek|[Ss]tep) )[^\W\d_]{1,16} ?#?\d{1,5}(?: ?[:.)]| -) \S"
)
_SET_OFF_ROW = re.compile(r"\s{0,8}[A-ZÀ-ÞА-Я][\w'’-]{1,20} [-–—|/] \S")
_ASKED = re.compile(r"\s{0,8}(?:q|a|f|i|в|о)[.:] \S")
_MENTION = re.compile(r"\s{0,8}@\w[\w'’-]{0,24} \S")
_PAIR = re.compile(r"[^=\n]{2,80} = [^=\n]{2,80}\Z")
_CHAPTER = re.compile(
    r"\s{0,8}(?:chapter|kapitel|chapitre|capítulo|capitolo|hoofdstuk|rozdział|глава|scene|szene|act|akt)"
    r" (?:\d{1,3}|[ivxl]{1,6}|\w{3,12})\s*\Z"
    r"|\s{0,8}第.{1,4}章"
)
_SHOUTED_LABEL = re.compile(r"\s{0,8}[A-ZÀ-ÞА-Я][A-ZÀ-ÞА-Я ]{1,24}: ?(?:\S|\Z)")
_DAILY = re.compile(
    r"\s{0,8}(?:[-*•] )?(?:yesterday|today|blockers?|gestern|heute|hier|aujourd['’]hui|ayer|hoy|ieri|oggi|what went well"
    r"|what didn['’]t|action items)\s?:"
)
_LABELLED = re.compile(r"\s{0,8}([^\W\d_][^:：\n]{0,24}?)\s?[:：]\s?\S")
_STOPPED = (".", "!", "?", "。", "！", "？", "…")


def page_begins(lines: Sequence[str], low: Sequence[str], kinds: Sequence[Kind], *, for_task: bool) -> int:
    """Returns the first line of a page whose mark stands at its beginning; -1 where there is none. `low` are the lines in lower
    case. With `for_task`, headings and clauses may be the user's specification. Linear."""
    byline = _byline(lines, low, kinds, for_task=for_task)
    starts = [] if byline < 0 else [_with_title(byline, lines, low, kinds)]
    starts += [number for number, line in enumerate(lines) if _BADGE.match(line) or _WIRE.match(line)][:1]
    starts += _turns(low, kinds)
    for pattern in (_TIMED, _SUNG, _NICK, _NAME_TIMED, _STAGED):
        # One such line may be the user's own, as in a note `14:05 call Anna`.
        found = [number for number, line in enumerate(lines) if pattern.match(line)]
        starts += found[:1] if len(found) > 1 else []
    starts += _records(lines, low)
    if not for_task:
        starts += _documents(lines, low, kinds)
        starts += _headings(lines, low, kinds)
    return min(starts, default=-1)


def page_ends(lines: Sequence[str], low: Sequence[str]) -> int:
    """Returns the first line that stands below a page alone; -1 where there is none. Linear."""
    return next(
        (number for number, line in enumerate(lines) if number and len(line) <= _MAX_LINE and _is_below(line, low[number])), -1
    )


def _is_below(line: str, low: str) -> bool:
    return (
        line.rstrip() == "--" or bool(_HASHTAGS.match(line)) or forms().sources.match(low.strip()) is not None or _counts(line)
    )


def _counts(line: str) -> bool:
    """Whether a line has nothing but the names of buttons and numbers: one with a number or a mark between, or several of them,
    with capitals where their script has any."""
    words = [word.strip(".'’-") for word in _WORD.findall(line)]
    named = [word for word in words if word.lower() in forms().controls]
    if not named or any(word.lower() not in forms().controls | forms().controls_too for word in words):
        return False
    if any(map(str.isdigit, line)) or any(mark in line for mark in "·•|↑↓"):
        return True
    cased = [word for word in words if word[0].lower() != word[0].upper()]
    return sum(word[0].isupper() for word in cased) > 1 if cased else len(words) > _MAX_BUTTONS


def _byline(lines: Sequence[str], low: Sequence[str], kinds: Sequence[Kind], *, for_task: bool) -> int:
    """The first line that says when, and at most by whom. A date alone below everything else is its writer's."""
    skipped = ("blank", "hidden", "item", "header", "small header")
    said = [number for number, kind in enumerate(kinds) if kind not in skipped and len(lines[number]) <= _MAX_LINE]
    found = [number for number in said if _is_byline(lines[number], low[number], for_task=for_task)]
    # People date their notes in the last line. A byline there counts only with a program's separators.
    last = found[:1] == [len(lines) - 1] or (len(found) == 1 and not any(map(str.strip, lines[found[0] + 1 :])))
    if len(found) > 1 and not _names(low[found[0]]):  # a time alone stands below what was said then
        return next((number for number in range(found[0], 0, -1) if kinds[number - 1] in ("blank", "hidden")), 0)
    return -1 if not found or (last and not any(mark in lines[found[0]] for mark in "·•|")) else found[0]


def _is_byline(line: str, low: str, *, for_task: bool) -> bool:
    """Whether a line has nothing but times, names and what a program writes around them. A date with a name may be a title of
    one's own, and where a task is set, a date alone too."""
    timed, handle = _TIME.search(low) is not None, _HANDLE.search(line) is not None
    if not (timed or handle) or low.rstrip().endswith(("?", "!", "。", ":", "：")):
        return False
    words = _WORD.findall(_HANDLE.sub(" ", _TIME.sub(" ", _VERSION.sub(" ", low))))
    plain = [word for word in words if word.strip(".'’-") not in forms().bylines]
    if (not timed and len(words) > _MAX_BUTTONS + 1) or len(plain) > _MAX_NAMES or persons_in(" ".join(plain)):
        return False
    if not all(_is_name(word, line) for word in plain):
        return False
    set_off = _SET_OFF.search(line) is not None or (bool(words) and words[0] in forms().bylines and len(words) > len(plain))
    # A name with a date and nothing else, `Lisbon 2024`, is how people title their own notes; with a time of day it isn't.
    return handle or set_off or (not for_task and not plain) or _DATE.search(low) is None


def _names(low: str) -> bool:
    return any(word.strip(".'’-") not in forms().bylines for word in _WORD.findall(_TIME.sub(" ", low)))


def _is_name(word: str, line: str) -> bool:
    """Whether a word in lower case stands in the line with a capital, or in a script without any, where it is short."""
    if word[0].upper() == word[0].lower():
        return len(word) <= 6
    return word[0].upper() + word[1:] in line or word.upper() in line


def _with_title(number: int, lines: Sequence[str], low: Sequence[str], kinds: Sequence[Kind]) -> int:
    """The first of the short lines without a stop above a byline: a title, or who wrote it."""
    first = number
    for above in range(number - 1, max(-1, number - 1 - 2 * _MAX_ABOVE), -1):
        if kinds[above] == "blank":
            continue
        line = lines[above].rstrip()
        if len(line) > _MAX_TITLE or line.endswith((*_STOPPED, ":", "：", ",")) or kinds[above] in ("hidden", "item"):
            break
        if forms().alone.fullmatch(low[above].strip()) or number - above > _MAX_ABOVE + 1:
            break
        first = above
    return first


def _turns(low: Sequence[str], kinds: Sequence[Kind]) -> list[int]:
    """Where speakers take turns: names with numbers, or names of which one speaks again after another."""
    said = [(number, found["who"].strip()) for number, line in enumerate(low) if (found := _TURN.match(line[:_MAX_LINE]))]
    said = [
        (number, who)
        for number, who in said
        if (kinds[number] != "header" or who == "q") and kinds[number] not in ("hidden", "item", "quoted")
    ]
    asked = [number for number, line in enumerate(low) if _ASKED.match(line)]  # `Q: …`, `A: …`
    if len(asked) > 1:
        return asked[:1]
    numbered = [number for number, who in said if who[-1:].isdigit() and who.rstrip(" 0123456789") in forms().speakers]
    if len(numbered) > 1:
        return numbered[:1]
    if {"q", "a"} <= {who for _, who in said}:
        return [said[0][0]]
    # A label that comes twice is no speaker's where it is alone: a list of one's own repeats its labels too.
    count = Counter(who for _, who in said)
    again = {who for who, times in count.items() if times > 1 and who not in forms().labels and len(who.split()) <= 3}
    return [next(number for number, who in said if who in again)] if again and len(count) > 1 else []


def _headings(lines: Sequence[str], low: Sequence[str], kinds: Sequence[Kind]) -> list[int]:
    """Where headings of a document stand: in capitals, of a clause, or numbered with text below each."""
    starts = list[int]()
    plain = [line for line in lines if line.strip()]
    # Where most lines are capitals, the user shouts, and a line of capitals heads nothing.
    alone = 2 * sum(map(str.isupper, plain)) < len(plain)
    scenes = [number for number, line in enumerate(lines[:-1]) if _NAMED.fullmatch(line) and not lines[number + 1].isupper()]
    if 1 < len(scenes) < len(plain) and all(kinds[number + 1] != "blank" and not _own(low[number]) for number in scenes):
        starts.append(scenes[0])
    for number, line in enumerate(lines):
        if not 0 < len(line) <= _MAX_TITLE or kinds[number] in ("blank", "hidden", "item"):
            continue
        if not any(map(str.strip, lines[number + 1 : number + 3])) or line.rstrip().endswith((*_STOPPED, ",", ":")):
            continue
        if line.isupper() and sum(map(str.isalpha, line)) >= _MIN_TITLE and kinds[number + 1] == "blank":
            starts += [number] if alone and (kinds[number] == "section" or not _own(low[number])) else []
        elif _CLAUSE_HEAD.match(low[number]) and not persons_in(low[number]):
            starts.append(number)
    titled = [number for number, line in enumerate(lines) if _TITLED_NUMBER.match(line) and not _own(low[number])]
    below = [number + 1 for number in titled if kinds[number + 1 : number + 2] in (["plain"], ["title"])]
    if len(below) > 1 and 2 * sum(persons_in(low[number]) > 0 for number in below) <= len(below):
        starts.append(titled[0])
    return starts


def _records(lines: Sequence[str], low: Sequence[str]) -> list[int]:
    """Where comments on a page, labelled data, or verse with its repetitions begin."""
    starts = [number for number, line in enumerate(low) if _NUMBERED_POST.match(line)][:1]
    starts += [0 for line in low if _REPEATED.match(line)][:1]
    if forms().acronyms.match(next((line for line in low if line.strip()), "")):
        starts.append(0)
    for pattern, texts in ((_ANNOTATED, lines), (_AGO, low), (_MENTION, low), (_PAIR, low)):
        found = [number for number, line in enumerate(texts) if 0 < len(line) <= 2 * _MAX_TITLE and pattern.match(line)]
        starts += found[:1] if len(found) > 1 else []
    return starts


def _documents(lines: Sequence[str], low: Sequence[str], kinds: Sequence[Kind]) -> list[int]:
    """Where logs, tests, notes of a meeting, prompts with headings, and records of several people begin."""
    starts = [number for number, line in enumerate(low) if _LOGGED.match(line)][:1]
    while starts and starts[0] > 0 and _PREFIXED.match(low[starts[0] - 1]):
        starts[0] -= 1
    daily = [number for number, line in enumerate(low) if _DAILY.match(line)]
    starts += daily[:1] if len(daily) > 1 else []
    heads = [number for number, line in enumerate(lines) if _SHOUTED_LABEL.match(line)]
    heads = [number for number in heads if not persons_in(low[number].partition(":")[0])]
    starts += heads[:1] if len(heads) > 1 and not all(_own(low[number].partition(":")[0]) for number in heads) else []
    first = next((number for number, line in enumerate(low) if line.strip()), 0)
    shouts = lines[first].isupper() and len(lines[first].split()) > 2 and len(lines) > first + 1 and not _own(low[first])
    titled = _CHAPTER.match(low[first]) or (
        _COUNTED.match(low[first]) and "\n" in "\n".join(lines[first:]) and not _own(low[first])
    )
    starts += [first] if kinds[first] == "section" or shouts or titled else []
    starts += [0 for number, line in enumerate(lines[:4]) if number and _BY.match(line)][:1]
    text = "\n".join(low[first + 1 :])
    # A title above a text that never says "I" is somebody else's text: people's own notes speak of themselves.
    if kinds[first] == "title" and text.strip() and not forms().firsts.search(text) and not _own(low[first]):
        starts.append(first)
    starts += _interview(low, kinds)
    starts += _rows(lines)
    labels = [(number, found[1]) for number, line in enumerate(low) if (found := _LABELLED.match(line[:_MAX_LINE]))]
    count = Counter(label for _, label in labels)
    return starts + ([labels[0][0]] if sum(times > 1 for times in count.values()) > 1 else [])


def _interview(low: Sequence[str], kinds: Sequence[Kind]) -> list[int]:
    """Where questions in lines of their own are answered in the next, twice; the writer's own questions speak of the writer."""
    asked = [
        number
        for number, line in enumerate(low[:-1])
        if line.rstrip().endswith(("?", "？"))
        and kinds[number + 1] in ("plain", "title", "item")
        and not low[number + 1].rstrip().endswith("?")
    ]
    own = sum(forms().firsts.search(low[number]) is not None for number in asked)
    return asked[:1] if len(asked) > 1 and not own else []


def _rows(lines: Sequence[str]) -> list[int]:
    """Where three rows of values between commas stand, as many in each."""
    run = 0
    for pattern in (_NUMBERED_ROW, _SET_OFF_ROW):
        found = [number for number, line in enumerate(lines) if pattern.match(line)]
        if len(found) > _MAX_BUTTONS - (pattern is _NUMBERED_ROW):
            return found[:1]
    for number, line in enumerate(lines):
        commas = line.count(", ")
        row = 1 < commas < 12 and len(line) <= 2 * _MAX_TITLE and not line.rstrip().endswith(_STOPPED)
        run = run + 1 if row and (run == 0 or commas == lines[number - 1].count(", ")) else int(row)
        if run > _MAX_BUTTONS:
            return [number - _MAX_BUTTONS]
    return []


def _own(low: str) -> bool:
    """Whether a title may be one of a person's own notes."""
    return persons_in(low) > 0 or all(word in forms().labels for word in _WORD.findall(low))
