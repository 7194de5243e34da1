"""Shapes: finds what its form alone tells: urls, files, symbols, error codes, tickets, commits, and tools in code."""

from __future__ import annotations

import re
from collections.abc import Iterator

from germane.extraction.entities.tokens import HIDDEN, Tokens, folded, is_tool, words
from germane.kinds.graph.value import FoundEntity

_URL = re.compile(r"\b(?:https?|ftp|ssh|git|file)://[^\s<>\"'`)\]}「」）、。，]{2,400}")
_MAIL = re.compile(r"(?<![\w.+@-])[\w.+-]{1,64}+@[\w-]{1,64}(?:\.[\w-]{1,64}){1,6}")
_CODES = re.compile(
    r"(?<![A-Za-z0-9_])http(?:/[12](?:\.[01])?)?(?: (?:status|error|code)){0,2} [1-5]\d\d\b|\b(?:status code|status) [45]\d\d\b"
    r"|\b[45]\d\d (?:bad request|unauthorized|payment required|forbidden|not found|method not allowed|not acceptable"
    r"|request timeout|conflict|gone|payload too large|unprocessable entity|too many requests|internal server error"
    r"|not implemented|bad gateway|service unavailable|gateway timeout)\b"
    r"|\bexit(?:ed with)? (?:code|status):? ?-?\d{1,5}\b|\bsqlstate[ \[]?[0-9a-z]{5}\b",
    re.IGNORECASE,
)
_NUMBERED = re.compile(
    r"\b(?:error|fehler|erreur|error code|fehlercode|errno) (?:code |nr\. ?)?(\d{3,6})\b(?![.,:/-]\d)", re.IGNORECASE
)
_DIGIT = re.compile(r"\d")
_IN_TICKS = re.compile(r"`([^`\n]{1,200})`")
_PROMPT = re.compile(r"^[ \t]{0,8}[$%❯>][ \t]{1,4}(?:sudo )?([a-z][\w.+-]{0,30})(?=\s|$)", re.MULTILINE)

_ERROR_CODE = re.compile(r"E0\d{3}|ORA-\d{5}|TS\d{4,5}|CS\d{4}|LNK\d{4}|ERR_[A-Z0-9_]{2,60}|0x[89A-Fa-f][0-9A-Fa-f]{7}")
_EXCEPTION = re.compile(r"(?:[A-Za-z_]\w{0,40}\.){0,8}[A-Z][A-Za-z0-9]{0,60}(?<=Error|ption|Fault|rrors)")
_TICKET = re.compile(r"[A-Z][A-Z0-9]{1,9}-\d{1,7}|#\d{1,8}|[a-z]{2,10}-\d{3,7}")
_NO_TICKET = re.compile(
    r"(?:utf|iso|sha|md|rfc|cve|covid|gpt|b2b|rtx|gtx|mp|h|aes|rsa|tls|ssl|usb|hdmi|base|windows|type|top|step|line|page|room|level"
    r"|day|week|version|v|python|java|node|ipv|rs|din|en|ieee|a|formula|phase|part|chapter|item|figure|table|ps|f|am|pm|boeing|airbus)-",
    re.IGNORECASE,
)
_COMMIT = re.compile(r"(?=[a-f]{0,40}[0-9])(?=[0-9]{0,40}[a-f])[0-9a-f]{7,40}")
_PATH = re.compile(r"(?:[A-Za-z]:\\|~?/|\.{1,2}/)?[\w.@+~-]{1,120}(?:[/\\][\w.@+~-]{1,120}){0,30}")
_EXTENSION = re.compile(r"\.([A-Za-z][A-Za-z0-9]{0,8})$")
_POSITION = re.compile(r":\d{1,7}(?::\d{1,7})?:?$")
_ROOTED = re.compile(r"(?:~|\.{1,2})?/[\w.@+-]+(?:/[\w.@+-]+){1,30}")
_NAME = re.compile(r"[A-Za-z_]\w{0,80}")
_DOTTED = re.compile(r"[A-Za-z_]\w{0,80}(?:(?:\.|::|->)[A-Za-z_~]\w{0,80}){0,12}")
_HUMPS = re.compile(r"[A-Z]?[a-z0-9]{1,60}[A-Z]\w{0,80}")
_SCOTS = re.compile(r"(?:Mc|Mac|De|La|Le|Van|Di|Du|Fitz|O)[A-Z][a-z]{2,40}")
_DOMAINS = frozenset(
    [
        "com",
        "org",
        "net",
        "io",
        "dev",
        "app",
        "ai",
        "co",
        "edu",
        "gov",
        "de",
        "fr",
        "es",
        "it",
        "nl",
        "uk",
        "eu",
        "ru",
        "pl",
        "info",
        "biz",
        "test",
        "local",
        "be",
        "ch",
        "at",
        "pt",
        "br",
        "me",
        "tv",
    ]
)


def hide_phrases(text: str, found: list[FoundEntity]) -> str:
    """Adds urls, and error codes of several words, to `found`; returns the text with them and mail addresses hidden. Linear."""
    if "://" in text:
        text = _URL.sub(lambda match: _hidden(match, found), text)
    if "@" in text:
        text = _MAIL.sub(lambda match: HIDDEN * len(match[0]), text)

    if not _DIGIT.search(text):
        return text

    def code(match: re.Match[str]) -> str:
        found.append(FoundEntity("error", match[0], match.start(), match.end(), 0.9))
        return HIDDEN * len(match[0])

    def numbered(match: re.Match[str]) -> str:
        found.append(FoundEntity("error", match[1], *match.span(1), 0.75))
        return match[0][: match.start(1) - match.start()] + HIDDEN * len(match[1])

    return _NUMBERED.sub(numbered, _CODES.sub(code, text))


def _hidden(match: re.Match[str], found: list[FoundEntity]) -> str:
    url = match[0].rstrip(".,;:!?*_")
    found.append(FoundEntity("url", url, match.start(), match.start() + len(url), 0.95))
    return HIDDEN * len(match[0])


def shapes(tokens: Tokens, taken: set[int], notable: list[int]) -> Iterator[FoundEntity]:
    """Yields what the tokens are by their form, and adds their numbers to `taken`. `notable` are those that aren't plain
    words. Linear."""
    text = tokens.text
    marked = _marked(text) if "`" in text or "$ " in text or "% " in text or "> " in text else {}
    code = bool(marked)
    for number in notable:
        raw, start = tokens.whole(number)
        if start in marked:
            continue
        one = _shape(raw, start, code)
        if one is not None:
            taken.add(number)
            yield one
    yield from marked.values()
    if marked:
        taken.update(number for number in range(len(tokens)) if tokens.whole(number)[1] in marked)


def _marked(text: str) -> dict[int, FoundEntity]:
    """What stands in backticks as a whole, or is the command of a prompt or of backticks, by where it begins."""
    marked = dict[int, FoundEntity]()
    commands = folded("tools", "tools", "commands")
    for match in _PROMPT.finditer(text):
        if is_tool(match[1]) or match[1] in commands:
            marked[match.start(1)] = FoundEntity("tool", match[1], *match.span(1), 0.9)
    for match in _IN_TICKS.finditer(text):
        inside, start = match[1], match.start(1)
        first = inside.split(" ", 1)[0].rstrip(":")
        if first.lower() in commands or is_tool(first):
            marked[start] = FoundEntity("tool", first, start, start + len(first), 0.9)
            continue
        one = _shape(inside, start, True) if " " not in inside else None
        if one is None and _DOTTED.fullmatch(inside.removesuffix("()")):
            one = FoundEntity("symbol", inside, start, start + len(inside), 0.85)
        if one is not None:
            marked[start] = one
    return marked


def _shape(raw: str, start: int, code: bool) -> FoundEntity | None:
    """What a token is by its form; None for a word."""
    # Markdown's `_emphasis_` is taken away only where it closes too: `_private` and `__init__` are names.
    lead = len(raw) - len(raw.lstrip("*_~'‘’(:=!?-" if raw.endswith(("_", "_.", "_:")) and raw[:2] != "__" else "*~'‘’(:=!?-"))
    word = _POSITION.sub("", raw[lead : lead + 600].rstrip("*.,:;!?'’=~-"))
    if word.endswith(("'s", "’s")):
        word = word[:-2]
    if len(word) < 2:
        return None
    start += lead
    kind, confidence = _kind(word, code)
    # `timeout_ms=30`: the name before the sign may be a symbol, the whole never is.
    if kind is None and "=" in word and _NAME.fullmatch(word.partition("=")[0]):
        word = word.partition("=")[0]
        kind, confidence = _kind(word, code)
    return FoundEntity(kind, word, start, start + len(word), confidence) if kind else None


def _kind(word: str, code: bool) -> tuple[str | None, float]:
    # Plain words are nearly all of a text: they are decided by two lookups, before any expression runs.
    if word.isalpha():
        if word.islower() or word[1:].islower():
            return ("file", 0.8) if word in words("tools", "files", "names") else (None, 0)
        return _of_letters(word, code)
    if _ERROR_CODE.fullmatch(word) or word in words("tools", "errors", "codes"):
        return "error", 0.9
    if _TICKET.fullmatch(word):
        if word[0] == "#":
            return "ticket", 0.8
        if _NO_TICKET.match(word):  # `UTF-8` and `COVID-19` look like `ABC-12`
            return None, 0
        return "ticket", 0.85 if word[0].isupper() else 0.7
    if _COMMIT.fullmatch(word):
        return "commit", 0.8
    if is_tool(word):
        return "tool", 0.9
    if word.endswith("()"):
        return ("symbol", 0.95) if _DOTTED.fullmatch(word[:-2]) else (None, 0)
    if _EXCEPTION.fullmatch(word):
        return "error", 0.9
    if _file(word):
        return "file", 0.9
    return _symbol(word, code)


def _of_letters(word: str, code: bool) -> tuple[str | None, float]:
    """What a word of letters with several capitals is."""
    if word in words("tools", "errors", "codes"):
        return "error", 0.9
    if word in words("tools", "files", "names"):
        return "file", 0.8
    if is_tool(word):
        return "tool", 0.9
    if word.isupper():
        return None, 0
    if len(word) > 6 and _EXCEPTION.fullmatch(word):
        return "error", 0.9
    lower = word.lower()
    if lower in folded("tools", "tools", "brands") or lower in folded("organisations", "organisations", "known", "legal"):
        return None, 0
    # `getUser` is a symbol; `McDonald` has humps too, and brands such as `GitHub` were asked before.
    if word.isascii() and _HUMPS.fullmatch(word) and not _SCOTS.fullmatch(word):
        return "symbol", 0.85 if code or word[0].islower() else 0.7
    return None, 0


def _file(word: str) -> bool:
    extension = _EXTENSION.search(word)
    if word.rpartition("/")[2] in words("tools", "files", "names"):
        return True
    if extension and _PATH.fullmatch(word):
        if extension.start() and extension[1].lower() in words("tools", "files", "extensions"):
            return not word.startswith("//") and len(word) > 3
        # With an unknown extension only a path that begins like one counts: `example.com/a` is an address.
        return "/" in word and extension[1] not in _DOMAINS and word[0] in "./~"
    return _ROOTED.fullmatch(word) is not None


def _symbol(word: str, code: bool) -> tuple[str | None, float]:
    if "::" in word or "->" in word:
        return ("symbol", 0.9) if _DOTTED.fullmatch(word) else (None, 0)
    if not word.isascii():
        return None, 0
    if "_" in word.strip("_") and _DOTTED.fullmatch(word):
        return "symbol", 0.9
    if "." in word and _DOTTED.fullmatch(word):
        parts = word.split(".")
        # `a.b` is an abbreviation or a host as often as an attribute: humps, or code around it, make it one.
        humps = any(_HUMPS.fullmatch(part) for part in parts)
        if parts[-1].lower() not in _DOMAINS and (humps or (code and all(len(part) > 1 for part in parts))):
            return "symbol", 0.85
        return None, 0
    if _NAME.fullmatch(word) and _HUMPS.fullmatch(word) and not word.isalpha():
        return ("symbol", 0.7) if word.lower() not in folded("tools", "tools", "brands") else (None, 0)
    return None, 0
