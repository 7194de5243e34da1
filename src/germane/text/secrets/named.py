"""Named: the secrets that are recognised by the name before them: `password=…`, "my password is …".

A name alone isn't enough: what follows must look like a secret, and not like a word, a placeholder, a measure or code.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from math import log2
from typing import Literal

from germane.text.secrets.formats import FoundSecret

_ASCII = ("pass", "secret", "token", "key", "pw", "credential", "pin", "kennwort", "contrase", "senha", "wachtwoord", "haslo")
_OTHERS = ("senord", "hasło", "парол", "密码", "密碼", "パスワード", "비밀번호", "كلمة", "पासवर्ड")
_HEADERS = ("bearer ", "basic ")
_PASSWORD = (
    r"pass(?:word|wd|phrase|code|wort|e(?<=mot de passe)(?![a-z]))|pwd|(?<![a-z])pw(?= ?[:=])|kennwort|contrase[ñn]a|senha"
    r"|wachtwoord|senord|has[łl]o|парол[ья]|密码|密碼|パスワード|비밀번호|كلمة (?:المرور|السر)|पासवर्ड"
)
_NAME = re.compile(
    rf"(?P<password>{_PASSWORD})"
    r"|(?P<secret>secret(?:[ _.-]?access)?(?:[ _.-]?key)?|credentials?)"
    r"|(?P<token>tokens?(?![a-z]))"
    r"|(?P<key>key(?:[ _-]?id)?)"
    r"|(?P<pin>(?<![a-z])pin(?:[ _-]?(?:code|number))?(?![a-z]))"
)
_PIN = re.compile(r"(?<![a-z])pin(?![a-z])")
_KEY_OF = re.compile(r"(?:(api|access|account|encryption|signing|master|license|subscription)|(private))[ _.-]?$")
"""What stands before `key` where it names a secret."""
_NOT_A_TOKEN = re.compile(r"(?:page|next|continuation|sync|cursor|csrf|max|min|num|total|stop|eos|bos|pad|unk)[ _.-]?$")
_BEFORE = 16
"""Characters before a name that may belong to it."""
_PLURAL = r"(?:s|(?<=[a-z])\d{1,2}|[ _-]?(?:value|text|string|plain))?+"
_VERB = (
    r"(?:(?:(?:is|was|has been) )?(?:changed|set|reset) to|(?:will|should) be|is|was|ist|lautet|war|est|es|[éèe]|jest|to|это)"
)
_VALUE = re.compile(
    rf"{_PLURAL}(?:\s?\([^()\n]{{1,40}}\))?+(?: (?:for|to|of|on|von|für|de|del|du|para) (?:[^\n.:=!?]|[.:](?=\w)){{1,40}}?)??"
    r"[\\\"'`\])*_]{0,4}+"
    r"(?:(?P<sign>\s{0,4}+(?:=>|:=|->|={1,3}|[:：＝]|(?<=\s)[|–-](?=\s)|(?<=[a-z])>))"
    rf"| {{1,3}}{_VERB}(?: (?:now|set to|still|jetzt))?(?=[\s:]):?"
    r"|\s?[是为為はがを]|[은는이가]\s)"
    r"[*_]{0,2}\s{0,4}+(?P<open>[\\\"'`“”‘’„«「『*]{0,4}+)(?P<value>[^\s\"'`“”‘’»」』<>\\|，。；！？、]{4,400}+)"
)
_FLAG = re.compile(r"(?P<sign>[ \t]{1,2})(?P<open>[\"']?)(?P<value>[^\s\"'`<>\\]{4,400}+)")
"""What follows `--password` in a command line."""
_IN_URL = re.compile(r"://[^\s:/@?#\"'<>]{0,100}+:(?P<value>[^\s/@\"'<>]{3,200}+)@")
_HEADER = re.compile(r"(?<![a-z])(?:bearer|basic) {1,3}(?P<value>[a-z0-9+/=_.~-]{16,4000}+)")
_CURL = re.compile(r"(?<![\w-])(?:-u|--user|--proxy-user)[ =]{0,2}[\"']?[^\s:\"']{1,100}+:(?P<value>[^\s\"']{3,200}+)")
_QUOTED = re.compile(r"[^\"'`“”‘’»」』\n\\]{4,200}+(?=[\\\"'`“”‘’»」』])")
_TRAILING = ".,;:)]}*_…。，；！？"


def may_name(low: str) -> bool:
    """Returns whether a text in lower case may hold something that introduces a secret. Quick."""
    if low.isascii():
        return (
            ("pass" in low or "key" in low or "token" in low or "secret" in low or "pw" in low)
            or ("://" in low and "@" in low)
            or ("credential" in low or "basic " in low or "bearer " in low or "curl" in low)
            or ("kennwort" in low or "contrase" in low or "senha" in low or "wachtwoord" in low or "haslo" in low)
            or ("pin" in low and _PIN.search(low) is not None)
        )
    return any(name in low for name in (*_ASCII, *_OTHERS, *_HEADERS, "curl")) or ("://" in low and "@" in low)


def by_name(text: str, low: str) -> Iterator[FoundSecret]:
    """Yields the secrets that a name, a header or a URL introduces. `low` is the text in lower case, of the same length. Takes
    linear time."""
    for kind, end, is_flag in _names(low):
        found = _VALUE.match(low, end) or (_FLAG.match(low, end) if is_flag else None)
        if found is None:
            continue
        start, stop = _extent(low, found, in_query=_in_query(low, end))
        if looks_secret(text[start:stop], kind, assigned=found["sign"] is not None):
            yield FoundSecret(kind, start, stop)
    if "://" in low:
        for match in _IN_URL.finditer(text):
            if not is_placeholder(match["value"]):
                yield FoundSecret("password", match.start("value"), match.end("value"))
    if "bearer " in low or "basic " in low:
        for match in _HEADER.finditer(low):
            if is_random(text[match.start("value") : match.end("value")]):
                yield FoundSecret("token", match.start("value"), match.end("value"))
    if "curl" in low:
        for match in _CURL.finditer(text):
            if not is_placeholder(match["value"]):
                yield FoundSecret("password", match.start("value"), match.end("value"))


def named_kind(name: str, value: str) -> str | None:
    """Returns the kind of the secret that `value` is where it stands under `name`, such as a key of JSON; None for none."""
    if len(value) > 4096 or len(name) > 256:
        return None
    low = name.lower()
    for kind, end, _ in _names(low):
        rest = low[end:].strip(" _-.")
        if (not rest or rest.isdigit() or rest in ("s", "value", "text", "string", "plain")) and looks_secret(
            value.strip(), kind, assigned=True
        ):
            return kind
    return None


def _names(low: str) -> Iterator[tuple[NameKind, int, bool]]:
    """Yields the names in a lower-case text: what each of them introduces, where it ends, and whether it is an option of a
    command line."""
    hits: list[int] = []
    for literal in _ASCII if low.isascii() else (*_ASCII, *_OTHERS):
        at = low.find(literal)
        while at >= 0:
            hits.append(at)
            at = low.find(literal, at + len(literal))
    done = 0
    for hit in sorted(hits):
        match = _NAME.match(low, hit) if hit >= done else None
        if match is not None and (kind := _kind(match, low[max(0, hit - _BEFORE) : hit])) is not None:
            done = match.end()
            yield kind, done, low.rfind("--", max(0, hit - _BEFORE), hit) > low.rfind(" ", max(0, hit - _BEFORE), hit)


def _kind(name: re.Match[str], before: str) -> NameKind | None:
    match name.lastgroup:
        case "password":
            return "password"
        case "pin":
            return "PIN"
        case "secret":
            return "secret"
        case "token":
            return None if _NOT_A_TOKEN.search(before) else "token"
        case _:
            of = _KEY_OF.search(before)
            return None if of is None else "API key" if of[1] else "secret"


def _in_query(low: str, end: int) -> bool:
    """Whether the name that ends at `end` is a parameter of a URL."""
    head = low[max(0, end - 2 * _BEFORE) : end]
    return max(head.rfind("?"), head.rfind("&")) > head.rfind(" ")


def _extent(low: str, found: re.Match[str], *, in_query: bool) -> tuple[int, int]:
    """Returns where the value begins and ends: a quoted one at the closing quote, any other without what ends a sentence."""
    start, end = found.span("value")
    if found["open"].strip("\\*") and (quoted := _QUOTED.match(low, start)):
        return start, quoted.end()
    value = low[start:end]
    if in_query:
        value = value.split("&", 1)[0]
    for stop in "});,":
        at = value.find(stop, 4)
        if at > 0 and (stop != "," or value[at + 1 : at + 2] in ("", '"', "'")):
            value = value[:at]
    return start, start + len(value.rstrip(_TRAILING))


# Decides whether the value behind a name is a secret.


NameKind = Literal["password", "PIN", "secret", "token", "API key"]
"""What a name introduces."""

_PLACEHOLDER = re.compile(
    r"^(?:[\[({<]|\$[{(]|\$[A-Za-z_]+$|%(?:[sd]$|\(|\w+%)|https?:|~?\.{0,2}/[a-z._-]+(?:/|$))|\{\{|x{4}|\*{3}|•{3}|\.{3}|…"
    r"|example|your[-_ ]?|placeholder|redacted|dummy|change[-_ ]?me|process\.env|environ|getenv"
    r"|(?<![a-z])(?:os|self|config|settings|secrets)\.|vault:|\w[(\[]",
    re.IGNORECASE,
)
_WORDS = """none null true false undefined string str required optional password passwd pass pwd secret token user username
    text hidden unknown default empty value integer boolean"""
_NOTHING = frozenset(_WORDS.split())
_DATE = re.compile(r"\d{4}-\d\d-\d\d|\d{1,2}[:/.]\d\d")
_EMAIL = re.compile(r"[\w.+-]{1,64}@[\w-]{1,64}\.[\w.-]{2,64}$")
_MEASURE = re.compile(
    r"\d[\d,.]*+(?:st|nd|rd|th|s|m|h|d|ms|px|kb|mb|gb|k|%|x|\+|-?(?:char|digit|day|hour|minute|min|step|factor|bit|word)\w{0,12})?$",
    re.IGNORECASE,
)
_STRONG = frozenset("!@#$%^&*+=?~|§€£")
_MIN_TOKEN, _MIN_PASSWORD = 12, 5
"""Characters."""
_MIN_ENTROPY = 2.8
"""Bits a character: words have some 2 to 3, random letters and digits of this length 3 and more."""
_MIN_CHANGES = 3
"""Changes of case that no words written together have."""
_READ = 256
"""Characters of a value that are looked at."""


def looks_secret(value: str, kind: NameKind, *, assigned: bool) -> bool:
    """Returns whether what follows a name is a secret. `assigned`: it follows a sign such as `=`, not a verb."""
    value = value[:_READ]
    if kind == "PIN":
        return value.isascii() and value.isdigit() and 4 <= len(value) <= 8
    if is_placeholder(value) or _EMAIL.match(value) or _DATE.match(value):
        return False
    if kind != "password":
        return len(value) >= _MIN_TOKEN and " " not in value and is_random(value)
    digits, letters = any(map(str.isdigit, value)), any(map(str.isalpha, value))
    if digits and not letters and _STRONG.isdisjoint(value):
        return assigned and value.isdecimal() and 4 <= len(value) <= 64
    if len(value) < _MIN_PASSWORD or _MEASURE.match(value):
        return False
    if " " in value:
        return digits and letters and assigned
    strong = not _STRONG.isdisjoint(value.rstrip("!?"))
    return letters and (digits or strong or (len(value) >= _MIN_TOKEN and _changes(value) >= _MIN_CHANGES))


def is_placeholder(value: str) -> bool:
    """Returns whether the value stands for a secret that isn't there: `<password>`, `${TOKEN}`, `xxxx`, `os.environ[…]`."""
    value = value[:_READ]
    return value.lower() in _NOTHING or _PLACEHOLDER.search(value) is not None


def is_random(value: str) -> bool:
    """Returns whether the value looks like no word or identifier: it has digits or many changes of case, and varies."""
    value = value[:_READ]
    if not value.isascii() or not (any(map(str.isdigit, value)) or _changes(value) >= _MIN_CHANGES):
        return False
    counts, size = Counter(value), len(value)
    entropy = -sum(count / size * log2(count / size) for count in counts.values())
    return entropy >= _MIN_ENTROPY and len(counts) >= 7


def _changes(value: str) -> int:
    """How often two upper-case letters or a digit follow a lower-case letter: `getUserName` has none, `aBCdeFG` has two."""
    threes = zip(value, value[1:], value[2:], strict=False)
    return sum(one.islower() and two.isupper() and not three.islower() for one, two, three in threes)
