"""Entities in a text: finds the people, organisations, places, dates, files, symbols and codes that it mentions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from germane.extraction.entities.days import hide_dates
from germane.extraction.entities.names import named
from germane.extraction.entities.runs import runs
from germane.extraction.entities.shapes import hide_phrases, shapes
from germane.extraction.entities.tokens import HIDDEN, Tokens, Written, is_tool, tools, words
from germane.kinds.graph.value import MAX_FOUND, FoundEntity
from germane.text.normal import fold

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


# Names in Chinese, Japanese and Korean, where honorifics, endings and lists tell what a capital tells elsewhere.


_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]")
_HONORED = re.compile(
    r"(?<![\u4e00-\u9fff])([\u4e00-\u9fff]{1,4}|[\u30a1-\u30ff]{2,8})(?:さん|様|さま|氏|くん|君|ちゃん|先輩)"
    r"|([王李张張刘劉陈陳杨楊赵趙黄黃周吴吳徐孙孫胡朱高林何郭马馬罗羅梁宋郑鄭谢謝韩韓唐冯馮董萧程曹袁邓鄧许許傅沈曾彭吕呂])"
    r"(?:先生|女士|小姐|老师|老師|经理|經理|医生|醫生|教授|总|同学)"
    r"|(?<![\uac00-\ud7af])([\uac00-\ud7af]{2,4})(?= ?씨|님)"
)
_ORGANISATION = re.compile(
    r"(?<![\u4e00-\u9fff])[\u4e00-\u9fff\u30a1-\u30ff]{1,8}?(?:大学|大學|株式会社|銀行|银行|公司|集团|医院|病院|研究所|研究院)"
)


def has_unspaced(text: str) -> bool:
    """Returns whether a text has a character of these scripts."""
    return not text.isascii() and _UNSPACED.search(text) is not None


def unspaced_names(text: str) -> Iterator[FoundEntity]:
    """Yields the names of a text in these scripts; an organisation's name hides the place in it. Linear."""
    hidden = list[tuple[int, int]]()
    for match in _ORGANISATION.finditer(text):
        hidden.append(match.span())
        yield FoundEntity("organisation", match[0], match.start(), match.end(), 0.8)
    for match in _HONORED.finditer(text):
        group = match.lastindex or 0
        yield FoundEntity("person", match[group], *match.span(group), 0.85)
    lists = (("place", "places", "places", "unspaced"), ("organisation", "organisations", "organisations", "unspaced_known"))
    for kind, file, table, key in lists:
        for name in words(file, table, key):
            start = text.find(name)
            if start >= 0 and not any(first <= start < last for first, last in hidden):
                yield FoundEntity(kind, name, start, start + len(name), 0.85)
