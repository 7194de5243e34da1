"""Templates: neutralises the tokens and role labels of models' chat templates where content imitates them.

Nothing is removed: `<|im_start|>` becomes `(|im_start|)`, `[INST]` becomes `(INST)`, and a role label at the start of a line
loses its colon (`System: …` becomes `System - …`). This breaks the form, not the meaning; it doesn't stop persuasion by
words.

The tokens are data: `templates.toml` has a table for each family of models. A text is split at its brackets, and the content
between two brackets is looked up in a set: linear time, however many tokens are listed.
"""

from __future__ import annotations

import json
import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from germane.text.normal import is_normalised, normalised

_BRACKET = re.compile(r"([<>\[\]\n])")
_MAX_TOKEN = 96
"""Characters of a token's content, white space inside it included, but not at its ends."""
_MAX_STAR = 64
"""Characters that a star stands for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Table:
    """The tokens to look up, casefolded, each with its nearest brackets (`<|eot_id|>`, `]~b]`).

    `exact` are tokens without a star; `doubled` are those with one more bracket on either side (`<<SYS>>`); `starred` are the
    beginnings and ends of tokens with a star. `beginnings` are the first two characters of all contents: other contents are no
    tokens; `beginning` finds a bracket before one of them in a casefolded text. `role_label` and `role_heading` match role
    labels and headings at the start of a line; `below` finds either after a line break.
    """

    exact: frozenset[str]
    doubled: frozenset[str]
    starred: tuple[tuple[str, str], ...]
    beginnings: frozenset[str]
    beginning: re.Pattern[str]
    below: re.Pattern[str]
    role_label: re.Pattern[str]
    role_heading: re.Pattern[str]


def neutralise(text: str) -> str:
    """`text` without tokens and role labels of chat templates, also without those that appear under NFKC."""
    text = _neutralised(text)
    if text.isascii():
        return text
    plain = text.replace("…", "...")  # as NFKC has it: the marks of an excerpt alone don't need the slow path
    if not plain.isascii():
        if is_normalised(text, "NFKC"):
            return text
        plain = normalised(text, "NFKC")
    broken = _neutralised(plain)
    return text if broken == plain else broken


def neutralise_line(head: str, line: str) -> str:
    """Returns a written line, which begins with germane's own `head`, without the tokens and labels that its parts make
    together. The head stays: of a token that it begins, the other bracket is broken."""
    whole = neutralise(line)
    return line if whole == line else head + whole[len(head) :]


@cache
def families() -> dict[str, dict[str, list[str]]]:
    """The content of `templates.toml` by family: `tokens`, `labels` and `headings`."""
    return tomllib.loads(files("germane.text").joinpath("templates.toml").read_text(encoding="utf-8"))


def _neutralised(text: str) -> str:
    if ("<" in text or "[" in text or "]" in text) and _TABLE.beginning.search(text.casefold()):
        text = _without_tokens(text)
    if ":" not in text and "#" not in text and "：" not in text:
        return text
    if "\n" in text and _TABLE.below.search(text):
        return "\n".join(map(_without_label, text.split("\n")))
    return _without_label(text)


def _without_tokens(text: str) -> str:
    """`text` with round brackets around each token. No token spans two lines."""
    pieces = _BRACKET.split(text)  # content, bracket, content …
    broken = False
    for index in range(2, len(pieces) - 1, 2):
        before, content, after = pieces[index - 1 : index + 2]
        if not content or before == "\n" or after == "\n":
            continue
        content = content.strip()
        begins = content.removeprefix("/").removesuffix("/").strip()[:2].casefold()
        if len(content) > _MAX_TOKEN or not (begins[:1] == "|" or begins[:2] in _TABLE.beginnings):
            continue
        token = _listed(f"{before}{_folded(content)}{after}")
        if token is None:
            continue
        if token in _TABLE.doubled and _is_doubled(pieces, index):
            pieces[index - 3], pieces[index + 3] = "(", ")"
        pieces[index - 1], pieces[index + 1], broken = "(", ")", True
    return "".join(pieces) if broken else text


def _listed(found: str) -> str | None:
    """The listed token that this is, or is the closing form of; None for any other text."""
    for token in (found, f"{found[0]}{found[1:-1].removeprefix('/').removesuffix('/')}{found[-1]}"):
        if token in _TABLE.exact:
            return token
    for begins, ends in _TABLE.starred:
        if found.startswith(begins) and found.endswith(ends):
            middle = found[len(begins) : len(found) - len(ends)]
            return found if 0 < len(middle) <= _MAX_STAR and "|" not in middle else None
    return None


def _is_doubled(pieces: list[str], index: int) -> bool:
    """Whether the brackets around the piece at `index` are doubled: the same brackets stand right outside."""
    inside = 3 <= index < len(pieces) - 3 and not pieces[index - 2] and not pieces[index + 2]
    return inside and pieces[index - 3] == pieces[index - 1] and pieces[index + 3] == pieces[index + 1]


def _folded(content: str) -> str:
    return "".join(content.split()).casefold()


def _without_label(line: str) -> str:
    """The line without a role label or a heading at its start."""
    if found := _TABLE.role_label.match(line):
        line = found[1].rstrip() + " -" + line[found.end() :]
    return f"- {line[found.end() :]}" if "#" in line and (found := _TABLE.role_heading.match(line)) else line


def _read() -> _Table:
    tokens = [_nearest(token) for family in families().values() for token in family.get("tokens", ())]
    labels = sorted({label for family in families().values() for label in family.get("labels", ())})
    headings = sorted({heading for family in families().values() for heading in family.get("headings", ())})
    starred = {tuple(token.split("*")) for token, _ in tokens if "*" in token}
    beginnings = {token[1:-1].removeprefix("/")[:2] for token, _ in tokens}
    role_label = (
        rf"((?:[^\w\n]|_)*+(?:{'|'.join(labels)})(?:[^\S\n]++(?:prompt|message|instructions?))?(?:[^\w\n:：]|_)*+)[:：]"
    )
    role_heading = rf"[^\S\n]*+#++[^\S\n]*+(?=(?:{'|'.join(headings)})\b)"
    return _Table(
        exact=frozenset(token for token, _ in tokens if "*" not in token),
        doubled=frozenset(token for token, doubled in tokens if doubled),
        beginnings=frozenset(beginnings),
        beginning=re.compile(rf"[<>\[\]]\s*+/?+\s*+(?:\||{'|'.join(sorted(map(_begun, beginnings)))})"),
        below=re.compile(rf"\n(?:{role_label}|{role_heading})", re.IGNORECASE),
        starred=tuple((begins, ends) for begins, ends in sorted(starred)),
        role_label=re.compile(role_label, re.IGNORECASE),
        role_heading=re.compile(role_heading, re.IGNORECASE),
    )


def _begun(beginning: str) -> str:
    """The beginning as a pattern; a single character is a whole content."""
    return re.escape(beginning) if len(beginning) > 1 else rf"{re.escape(beginning)}\s*+/?+\s*+[<>\[\]]"


def _nearest(token: str) -> tuple[str, bool]:
    """A listed token as it is looked up, with its nearest brackets, and whether its brackets are doubled."""
    pieces = _BRACKET.split(normalised(token, "NFKC"))
    index = next(index for index in range(2, len(pieces) - 1, 2) if pieces[index])
    return f"{pieces[index - 1]}{_folded(pieces[index])}{pieces[index + 1]}", _is_doubled(pieces, index)


_TABLE = _read()


# Content as one line of JSON in which no tag and no further line can begin, so that it is data in a prompt.


_ESCAPED = (("<", "\\u003c"), (">", "\\u003e"), ("\x85", "\\u0085"), ("\u2028", "\\u2028"), ("\u2029", "\\u2029"))


def json_line(value: object) -> str:
    """Returns `value` as JSON in one line. Angle brackets and line separators are escaped; a lone surrogate becomes `?`."""
    line = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace").decode()
    for mark, escaped in _ESCAPED:
        line = line.replace(mark, escaped)
    return line
