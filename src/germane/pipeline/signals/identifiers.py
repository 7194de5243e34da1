"""Identifiers: finds terms that must match verbatim: paths, symbols, error codes, versions, quoted phrases."""

from __future__ import annotations

import re

__all__ = ["identifiers", "phrases"]

_MAX_IDENTIFIERS = 24
_MAX_CHARS = 200
"""Characters of an identifier that are kept."""
_MAX_PHRASES = 8
_SHAPES = re.compile(
    r"""
      \b(?:https?|ftp|file|ssh|git)://[^\s<>"'`)\]}]{2,400}                 # urls
    | \bwww\.[^\s<>"'`)\]}]{3,400}
    | (?<![\w.+@-])[\w.+-]{1,64}+@[\w-]{1,64}(?:\.[\w-]{1,64}){1,6}                     # e-mail addresses
    | \b[A-Za-z]:\\[^\s<>"'|?*]{1,300}                                      # C:\paths
    | (?<![\w/.])(?:~|\.{1,2})?(?:/[\w.@+-]{1,100}){2,30}/?                 # /absolute/paths and ./relative/ones
    | (?<![\w/.])~/[\w.@+-]{1,100}
    | (?<![\w.@+/-])[\w.@+-]{1,100}+(?:/[\w.@+-]{1,100}){0,30}/[\w@+-]{1,100}\.[A-Za-z]\w{0,9}\b # src/some/file.py
    | (?<![\w.@+/-])[\w@+-]{1,100}+(?:/[\w@+-]{1,100}){2,30}\b                           # a/b/c
    | \b[A-Za-z_]\w{0,100}+(?:::\w{1,100}){1,10}                             # std::vector
    | \b[A-Za-z_]\w{0,100}+(?:\.[A-Za-z_]\w{0,100}){1,12}(?:\(\))?           # module.Class.method(), file.py, example.com
    | \b[A-Za-z_]\w{0,100}+\(\)
    | \b[^\W_]{0,60}+_\w{1,100}+                                                  # snake_case, ERR_TIMEOUT, __init__
    | \b0x[0-9A-Fa-f]{1,64}\b
    | \b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b                       # uuids
    | \b(?=[a-f]{0,40}[0-9])(?=[0-9]{0,40}[a-f])[0-9a-f]{7,40}\b            # commit hashes
    | \b[A-Za-z][A-Za-z0-9]{0,30}-[0-9][\w.-]{0,30}\b                       # CVE-2021-44228, gpt-4o, ABC-123
    | \bv[0-9]{1,4}(?:\.[0-9]{1,6}){0,4}\b | \b[0-9]{1,4}(?:\.[0-9]{1,6}){2,4}\b
    | \b[A-Z]{1,8}[0-9]{2,6}\b                                              # E1234, TS2345
    | (?<!\w)\#[0-9]{1,8}\b
    | (?<![\w-])--[a-z][\w-]{1,60}                                          # --flags
    | \b[a-z][a-z0-9]{0,60}+[A-Z][A-Za-z0-9]{0,100}+\b               # camelCase
    | \b(?:[A-Z][a-z0-9]{1,60}){2,12}[A-Z]?\b                               # CamelCase
    """,
    re.VERBOSE | re.ASCII,
)
_NUMERIC = re.compile(r"_+|[0-9]{1,4}(?:[/-][0-9]{1,4}){1,4}")
_MARKS = frozenset("_/\\@#")
_JOINED = re.compile(r"\.\S")
_HUMP = re.compile(r"[a-z0-9][A-Z]")
_MIXED = re.compile(r"[0-9][A-Za-z]|[A-Za-z][0-9]|-[0-9]")
_HEXADECIMAL = re.compile(r"[0-9a-f]{8}-")
_ABBREVIATIONS = frozenset({"e.g", "i.e", "a.m", "p.m", "a.k.a", "u.s", "u.k", "u.s.a", "ph.d"})

_QUOTED = re.compile(
    r'"([^"\n]{2,200})"|“([^“”\n]{2,200})”|„([^„“”\n]{2,200})[“”]|«([^«»\n]{2,200})»|»([^«»\n]{2,200})«'
    r"|「([^「」\n]{1,200})」|『([^『』\n]{1,200})』|《([^《》\n]{1,200})》|‘((?:[^‘’\n]|’(?=\w)){2,200})’"
    r"|`([^`\n]{2,200})`|(?<!\w)'(?=\S)((?:[^'\n]|'(?=\w)){2,200})(?<=\S)'(?!\w)"
)


def identifiers(text: str) -> tuple[str, ...]:
    """Distinct identifiers in the order of the text, at most 24 of at most 200 characters each."""
    found: dict[str, None] = {}
    if not _may_contain(text):
        return ()
    for match in _SHAPES.finditer(text):
        name = match[0].rstrip(".,;:!?-")[:_MAX_CHARS]
        if len(name) > 1 and not _NUMERIC.fullmatch(name) and name.lower() not in _ABBREVIATIONS:
            found.setdefault(name)
            if len(found) == _MAX_IDENTIFIERS:
                break
    return tuple(found)


def phrases(text: str) -> tuple[str, ...]:
    """Distinct phrases in quotes of any style, in the order of the text, at most eight of at most 200 characters each."""
    found: dict[str, None] = {}
    for match in _QUOTED.finditer(text):
        phrase = match[match.lastindex or 0].strip()
        if phrase and len(found) < _MAX_PHRASES:
            found.setdefault(phrase)
    return tuple(found)


def _may_contain(text: str) -> bool:
    """Whether the text has any character or pair that every identifier contains: ordinary prose has none, and isn't
    searched."""
    if not _MARKS.isdisjoint(text) or "::" in text or "()" in text or "--" in text:
        return True
    if ("." in text and _JOINED.search(text)) or _HUMP.search(text) or _MIXED.search(text):
        return True
    return "-" in text and _HEXADECIMAL.search(text) is not None
