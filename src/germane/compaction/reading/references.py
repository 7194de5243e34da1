"""References: the paths, urls and ids that a text names."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from germane.graph.extraction.lexicon import words
from germane.text.traits import letter_words

__all__ = ["FoundPath", "ids_in", "json_ids", "paths_in", "plain_path", "urls_in"]

_MAX_PATH = 256
_TOKEN = re.compile(r"(?<![\w./\\@+~:-])[\w\\@+~:-]*+[./][\w./\\@+~:-]*+")
"""A run of the characters of paths, with a full stop or a slash in it."""
_POSITION = re.compile(r":\d{1,7}(?:[:-]\d{1,7})?:?\Z")
_URL = re.compile(r"\bhttps?://[^\s<>\"'`)\]}」「）、。，]{2,400}")
_DIGIT = re.compile(r"\d")
_ID = re.compile(
    r"(?<![\w/.-])(?:[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}|[A-Z][A-Z0-9]{1,9}-\d[\dA-Z]{0,15}(?:-[\dA-Z]{1,12}){0,3}"
    r"|#\d{1,9}|(?=[a-f]{0,39}\d)(?=\d{0,39}[a-f])[0-9a-f]{7,40}|[a-z]{2,8}_(?=[A-Za-z]{0,40}\d)[A-Za-z0-9]{5,40})(?![\w-])"
)
_NO_ID = re.compile(r"(?:UTF|ISO|SHA|MD|RFC|GPT|MP|AES|RSA|TLS|USB|IPV|PEP|PY|H|A|F|V|COVID|STEP|TYPE|LEVEL)-", re.IGNORECASE)
_NAMES = (
    "order|invoice|ticket|case|booking|reservation|confirmation|tracking|account|customer|reference|shipment|parcel|"
    "claim|bestellung|bestellnummer|rechnung|kunde|kundennummer|buchung|vorgang|commande|facture|réservation|dossier|"
    "pedido|factura|reserva|cliente|ordine|fattura|prenotazione|pratica|encomenda|fatura|заказ|заказа|счёт|счет|"
    "бронирование|заявка|номер"
)
_BEHIND_A_NAME = re.compile(
    rf"\b(?:{_NAMES})"
    r"(?:[ -](?:number|no\.?|nr\.?|num|id|code|numéro|número|numero|n°|nº|номер))?"
    r"[ :]{1,2}(?:№ ?|#)?([A-Z]{0,5}-?\d[\w-]{2,24})\b",
    re.IGNORECASE,
)
_NAMED = frozenset(_NAMES.split("|"))
_JSON_ID = re.compile(
    r"\"([A-Za-z_-]{0,32}(?:id|Id|ID|uuid|number|Number|sha|hash|reference|Reference|ticket|tracking|commit|order))\"\s?:\s?"
    r"(?:\"([^\"\\\n\s]{2,64})\"|(\d{2,20})(?![\d.]))"
)
_NO_KEY = re.compile(
    r"(?:tool_?(?:call|use)_?|page_?|line_?|row_?|index_?|phone_?|thread_?|process_?|p|group_?|grid|valid)(?:id|number)",
    re.IGNORECASE,
)


class FoundPath(NamedTuple):
    path: str
    start: int
    end: int


def paths_in(text: str) -> Iterator[FoundPath]:
    """Yields the paths of files that a text names, in order, where the ending of the name is known. Linear."""
    if "." not in text and "/" not in text:
        return
    for token in _TOKEN.finditer(text):
        raw = token[0]
        if len(raw) > _MAX_PATH + 16 or "://" in raw:
            continue
        word = _POSITION.sub("", raw.rstrip(".:-")).lstrip(":-")
        if word and _is_path(word):
            start = token.start() + raw.index(word)
            yield FoundPath(plain_path(word), start, start + len(word))


def plain_path(path: str) -> str:
    """Returns a path as it is called: with slashes, without a leading `./`; '' for more than 256 characters."""
    plain = " ".join(path[:1_000].split()).replace("\\", "/")
    return plain.removeprefix("./") if len(plain) <= _MAX_PATH else ""


def _is_path(word: str) -> bool:
    name = word.replace("\\", "/").rpartition("/")[2]
    if name in words("tools", "files", "names"):
        return True
    stem, dot, ending = name.rpartition(".")
    if not dot or not ending.isascii() or not ending[:1].isalpha():
        return False
    known = ending.lower() in words("tools", "files", "extensions")
    return known and bool(stem or "/" in word) and not stem.replace(".", "").isdigit() and "@" not in word


def urls_in(text: str) -> list[str]:
    """Returns the web addresses in a text, in order. Linear."""
    if "://" not in text:
        return []
    return [match[0].rstrip(".,;:!?*_") for match in _URL.finditer(text)]


def ids_in(text: str) -> list[str]:
    """Returns the ids in a text, in order: UUIDs, tickets, hashes, and numbers of orders, invoices and the like. Linear."""
    if not _DIGIT.search(text):
        return []
    found = [match[0] for match in _ID.finditer(text) if not _NO_ID.match(match[0])]
    if not letter_words(text).isdisjoint(_NAMED):
        found += [match[1] for match in _BEHIND_A_NAME.finditer(text)]
    return list(dict.fromkeys(found))


def json_ids(text: str) -> list[str]:
    """Returns the ids that JSON names, as `order_id 8841`, in order. Linear."""
    found = [(match[1], match[2] or match[3]) for match in _JSON_ID.finditer(text)]
    return list(dict.fromkeys(f"{key} {value}" for key, value in found if not _NO_KEY.match(key) and _DIGIT.search(value)))
