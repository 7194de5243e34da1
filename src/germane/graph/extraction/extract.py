"""Extract entities: finds the people, organisations, places, dates, files, symbols and codes that one text mentions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from germane.graph.extraction.days import hide_dates
from germane.graph.extraction.found import MAX_FOUND, FoundEntity
from germane.graph.extraction.lexicon import is_tool, tools
from germane.graph.extraction.names import named
from germane.graph.extraction.runs import runs
from germane.graph.extraction.shapes import hide_phrases, shapes
from germane.graph.extraction.tokens import HIDDEN, Tokens
from germane.graph.extraction.unspaced import has_unspaced, unspaced_names
from germane.graph.extraction.written import Written
from germane.text.normal import fold

__all__ = ["extract_entities"]

_MAX_READ = 20_000
"""Characters of a text that are read."""
_MAX_SPEAKER = 80
_NOBODY = frozenset({"assistant", "user", "system", "tool", "bot", "human", "ai", "agent", "model", "unknown", "me", "you"})
_NO_NAMES: Mapping[str, str] = MappingProxyType({})


def extract_entities(
    text: str, *, speaker: str = "", role: str = "user", known: Mapping[str, str] = _NO_NAMES
) -> tuple[FoundEntity, ...]:
    """Returns what `text` mentions, in its order, each type and name once and at most 64; the speaker comes first, at 0 to 0.

    `speaker` is the name under which it was said, and `role` whose turn it is. `known` has the types of names that are known
    in this conversation by the folded name, for names that no rule tells. Pure; takes linear time; reads 20,000 characters.
    """
    text = text[:_MAX_READ].replace(HIDDEN, " ")
    found = list[FoundEntity]()
    work = hide_dates(hide_phrases(text, found), found)
    tokens = Tokens(work)
    notable = list(tokens.notable())
    taken = set[int]()
    written = Written(text)
    found.extend(one for one in shapes(tokens, taken, notable) if _counts(one, written))
    found.extend(_tools_in_prose(tokens, taken, notable))
    found.extend(named(tokens, tuple(runs(tokens, taken, notable)), known, written))
    if has_unspaced(work):
        found.extend(unspaced_names(work))
    found.sort(key=lambda one: (one.start, -one.end))
    if speaker and role != "tool" and len(speaker) <= _MAX_SPEAKER and fold(speaker.strip()) not in _NOBODY:
        found.insert(0, FoundEntity("person", speaker.strip(), 0, 0, 0.9))
    return tuple({(one.type, one.name): one for one in reversed(found)}.values())[::-1][:MAX_FOUND]


def _counts(one: FoundEntity, written: Written) -> bool:
    """Whether it counts where it stands: of a block of code the symbols that it defines, and no `#333`."""
    if one.type not in ("symbol", "ticket") or not written.in_code(one.start):
        return True
    return one.type == "symbol" and written.defined(one.start)


def _tools_in_prose(tokens: Tokens, taken: set[int], notable: Sequence[int]) -> list[FoundEntity]:
    """Tools that are named in lower case, as `docker` is; those with punctuation behind them are among the notable tokens."""
    found = list[FoundEntity]()
    raw = tokens.raw()
    numbers = [number for number in notable if number not in taken and raw[number][0].islower()]
    if not tools().isdisjoint(raw):
        numbers += [number for number, word in enumerate(raw) if word in tools()]
    for number in dict.fromkeys(numbers):
        token = tokens[number]
        if number not in taken and is_tool(token.word) and tokens.text[token.start - 3 : token.start] != "```":
            taken.add(number)
            found.append(FoundEntity("tool", token.word, token.start, token.end, 0.85))
    return found
