"""Statements: what a text says of the work: decisions, tasks, fixes, changes of files, and constraints."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from germane.compaction.notes import Artifact, Constraint
from germane.extraction.entities.tokens import words
from germane.text.demands import FoundPhrase, PhraseRules, demands_in, demands_of, phrase_rules
from germane.text.own_words.own_words import OwnSentence
from germane.text.specifics import letter_words

_MAX_NAME = 200
_MAX_DISTANCE = 80
"""Characters between a word such as `deleted` and the path that it is about."""
_CHANGES = frozenset({"created", "edited", "deleted", "renamed"})
_DENIED = re.compile(
    r"(?:\b(?:not|never|if|should|must|will|would|could|can|to|cannot|nicht|wenn|falls|soll|muss|kann|wird|werden|ne|pas|si|doit|no|"
    r"debe|non|se|deve|não|не|если|нужно|надо|to be|have|has to|be)|n['’]t)\b(?: (?:be|yet|been|sein|être|ser|essere|быть))?"
    r"[^,;]{0,5}\Z",
    re.IGNORECASE,
)
_JOINT = re.compile(r"[\W\d_]")
_TYPE = re.compile(r"\b[\w.]{1,80}(?:Error|Exception|Warning)\b")


@cache
def statement_rules() -> PhraseRules:
    """Returns the rules for decisions, open and done tasks, fixes, and changes of files that a text reports."""
    return phrase_rules([tomllib.loads(files("germane.compaction.reading").joinpath("statements.toml").read_text("utf-8"))])


def statements_in(sentences: Sequence[OwnSentence]) -> Iterator[Artifact]:
    """Yields what these sentences state, in order. An error that a sentence says to be fixed is named by its type, else it has
    no name, and its change is `resolved: …`. Linear."""
    rules = statement_rules()
    for text, said in sentences:
        if said.rstrip().endswith("?"):
            continue
        paths: list[FoundPath] | None = None
        seen = set[str]()
        for phrase in rules.find(said):
            if phrase.name in _CHANGES:
                paths = list(paths_in(said)) if paths is None else paths
                yield from _changes(said, phrase, paths)
            elif phrase.name not in seen:
                seen.add(phrase.name)
                yield from _stated(text, said, phrase)


def may_tell_changes(text: str) -> bool:
    """Returns whether a word of the rules for changes of files is in the text; most texts have none. Linear."""
    return not _change_words().isdisjoint(letter_words(text))


@cache
def _change_words() -> frozenset[str]:
    """The words of the rules for changes, each up to its first joint."""
    rules = statement_rules().by_word.items()
    return frozenset(_JOINT.split(word)[0] for word, found in rules if any(rule.name in _CHANGES for rule in found))


def changes_in(sentences: Sequence[OwnSentence]) -> Iterator[Artifact]:
    """Yields what these sentences state of files alone, in order. Linear."""
    rules = statement_rules()
    for _, said in sentences:
        if not may_tell_changes(said) or said.rstrip().endswith("?"):
            continue
        paths = list(paths_in(said))
        for phrase in rules.find(said) if paths else ():
            if phrase.name in _CHANGES:
                yield from _changes(said, phrase, paths)


def _stated(text: str, said: str, phrase: FoundPhrase) -> Iterator[Artifact]:
    if phrase.name == "decision":
        yield Artifact(kind="decision", name=_short(text))
    elif phrase.name == "open":
        _, colon, rest = text.partition(": ") if ":" in said[phrase.end : phrase.end + 60] else ("", "", "")
        yield Artifact(kind="task", name=_short(rest if colon and rest.strip() else text), change="open")
    elif phrase.name == "fixed" and not _denied(said, phrase.start):
        named = _TYPE.search(said)
        yield Artifact(kind="error", name=named[0] if named else "", change=f"resolved: {_short(text)}")


def _changes(said: str, phrase: FoundPhrase, paths: Sequence[FoundPath]) -> Iterator[Artifact]:
    """What became of the paths that follow the word, else of the one before it."""
    if not paths or _denied(said, phrase.start):
        return
    behind = [path for path in paths if 0 <= path.start - phrase.end <= _MAX_DISTANCE]
    before = [path for path in paths if 0 <= phrase.start - path.end <= _MAX_DISTANCE]
    if phrase.name == "renamed":
        pair = behind[:2] if len(behind) > 1 else [*before[-1:], *behind[:1]] if behind else before[-2:]
        if len(pair) == 2:
            yield Artifact(kind="file", name=pair[0].path, change=f"renamed to {pair[1].path}")
        return
    end = phrase.end
    listed = list[FoundPath]()
    for path in behind:
        if path.start - end > (_MAX_DISTANCE if not listed else 8):
            break
        listed.append(path)
        end = path.end
    for path in listed or before[-1:]:
        yield Artifact(kind="file", name=path.path, change=phrase.name)


def _denied(said: str, place: int) -> bool:
    return _DENIED.search(said, max(0, place - 40), place) is not None


def _short(text: str) -> str:
    plain = " ".join(text.split()).rstrip()
    return plain if len(plain) <= _MAX_NAME else f"{plain[: _MAX_NAME - 1].rstrip()}…"


# The demands in a user's own words, as the notes of an exchange hold them (HIST-5).


def constraints_in(text: str) -> tuple[Constraint, ...]:
    """Returns the constraints of one message of a user, in order, each once, at most 40. Linear; reads 20,000 characters."""
    return tuple(Constraint(text=one) for one in demands_in(text))


def constraints_of(sentences: list[OwnSentence]) -> tuple[Constraint, ...]:
    """As `constraints_in`, of sentences that were read before."""
    return tuple(Constraint(text=one) for one in demands_of(sentences))


# References: the paths, urls and ids that a text names.


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
