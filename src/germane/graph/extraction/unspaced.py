"""Unspaced: finds names in Chinese, Japanese and Korean, where honorifics, endings and lists tell what has no capital."""

from __future__ import annotations

import re
from collections.abc import Iterator

from germane.graph.extraction.found import FoundEntity
from germane.graph.extraction.lexicon import words

__all__ = ["has_unspaced", "unspaced_names"]

_ANY = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]")
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
    return not text.isascii() and _ANY.search(text) is not None


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
