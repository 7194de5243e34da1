"""Templates: marks with which models' own chat templates tell who speaks, made harmless where content imitates them.

Nothing is dropped: `<|im_start|>` becomes `(|im_start|)`, `[INST]` becomes `(INST)`, a role label at the start of a line loses
its colon (`System: …` becomes `System - …`). This breaks the form, not the meaning; it makes no claim to stop persuasion.

Which marks there are is data: `templates.toml`, a table a family of models. A text is taken apart at its brackets, and what
stands between two of them is looked up in a table: linear time, however many tokens are listed.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from germane.text.normal import is_normalised, normalised

__all__ = ["families", "neutralise"]

_BRACKET = re.compile(r"([<>\[\]\n])")
_LONGEST = 96
"""Characters of the longest content of a token, white space inside it included, but not at its ends."""
_STAR = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class _Table:
    """Tokens as their contents between the nearest brackets (`<|eot_id|>`, `]~b]`), folded. `doubled` are those that have a
    bracket more on either side (`<<SYS>>`); `begun` are the beginnings and ends of what is listed with a star; `beginnings` the
    first two characters of all contents: what begins otherwise needs no second look."""

    exact: frozenset[str]
    doubled: frozenset[str]
    begun: tuple[tuple[str, str], ...]
    beginnings: frozenset[str]
    speaking: re.Pattern[str]
    headed: re.Pattern[str]


def neutralise(text: str) -> str:
    """`text` in which no token or role label of a chat template is left, nor one that appears under NFKC."""
    text = _broken(text)
    if text.isascii():
        return text
    plain = text.replace("…", "...")  # as NFKC has it: an excerpt's marks alone are no reason to look further
    if not plain.isascii():
        if is_normalised(text, "NFKC"):
            return text
        plain = normalised(text, "NFKC")
    broken = _broken(plain)
    return text if broken == plain else broken


@cache
def families() -> dict[str, dict[str, list[str]]]:
    """What `templates.toml` holds, by family: `tokens`, `labels` and `headings`."""
    return tomllib.loads(files("germane.pipeline.format").joinpath("templates.toml").read_text(encoding="utf-8"))


def _broken(text: str) -> str:
    if "<" in text or "[" in text or "]" in text:
        text = _unbracketed(text)
    if ":" not in text and "#" not in text and "：" not in text:
        return text
    return "\n".join(map(_spoken, text.split("\n"))) if "\n" in text else _spoken(text)


def _unbracketed(text: str) -> str:
    """`text` with round brackets around what is a token. No token spans a line."""
    pieces = _BRACKET.split(text)  # a content, a bracket, a content …
    broken = False
    for at in range(2, len(pieces) - 1, 2):
        before, content, after = pieces[at - 1 : at + 2]
        if not content or before == "\n" or after == "\n":
            continue
        content = content.strip()
        begins = content.removeprefix("/").removesuffix("/").strip()[:2].casefold()
        if len(content) > _LONGEST or not (begins[:1] == "|" or begins[:2] in _TABLE.beginnings):
            continue
        token = _listed(f"{before}{_folded(content)}{after}")
        if token is None:
            continue
        if token in _TABLE.doubled and _stands_doubled(pieces, at):
            pieces[at - 3], pieces[at + 3] = "(", ")"
        pieces[at - 1], pieces[at + 1], broken = "(", ")", True
    return "".join(pieces) if broken else text


def _listed(found: str) -> str | None:
    """The token that this is, of a listed one's closing form that one; None for what is none."""
    for token in (found, f"{found[0]}{found[1:-1].removeprefix('/').removesuffix('/')}{found[-1]}"):
        if token in _TABLE.exact:
            return token
    for begins, ends in _TABLE.begun:
        if found.startswith(begins) and found.endswith(ends):
            middle = found[len(begins) : len(found) - len(ends)]
            return found if 0 < len(middle) <= _STAR and "|" not in middle else None
    return None


def _stands_doubled(pieces: list[str], at: int) -> bool:
    """Whether the brackets around the content at `at` have a likeness right outside."""
    inside = 3 <= at < len(pieces) - 3 and not pieces[at - 2] and not pieces[at + 2]
    return inside and pieces[at - 3] == pieces[at - 1] and pieces[at + 3] == pieces[at + 1]


def _folded(content: str) -> str:
    return "".join(content.split()).casefold()


def _spoken(line: str) -> str:
    """A line that starts with no role label."""
    if found := _TABLE.speaking.match(line):
        line = found[1].rstrip() + " -" + line[found.end() :]
    return f"- {line[found.end() :]}" if "#" in line and (found := _TABLE.headed.match(line)) else line


def _read() -> _Table:
    tokens = [_nearest(token) for family in families().values() for token in family.get("tokens", ())]
    labels = sorted({label for family in families().values() for label in family.get("labels", ())})
    headings = sorted({heading for family in families().values() for heading in family.get("headings", ())})
    starred = {tuple(token.split("*")) for token, _ in tokens if "*" in token}
    return _Table(
        exact=frozenset(token for token, _ in tokens if "*" not in token),
        doubled=frozenset(token for token, doubled in tokens if doubled),
        beginnings=frozenset(token[1:-1].removeprefix("/")[:2] for token, _ in tokens),
        begun=tuple((begins, ends) for begins, ends in sorted(starred)),
        speaking=re.compile(
            rf"((?:[^\w\n]|_)*+(?:{'|'.join(labels)})(?:[^\S\n]++(?:prompt|message|instructions?))?(?:[^\w\n:：]|_)*+)[:：]",
            re.IGNORECASE,
        ),
        headed=re.compile(rf"[^\S\n]*+#++[^\S\n]*+(?=(?:{'|'.join(headings)})\b)", re.IGNORECASE),
    )


def _nearest(token: str) -> tuple[str, bool]:
    """A listed token's content between its nearest brackets, as it is looked up, and whether it has one more on either side."""
    pieces = _BRACKET.split(normalised(token, "NFKC"))
    at = next(at for at in range(2, len(pieces) - 1, 2) if pieces[at])
    return f"{pieces[at - 1]}{_folded(pieces[at])}{pieces[at + 1]}", _stands_doubled(pieces, at)


_TABLE = _read()
