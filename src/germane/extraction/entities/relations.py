"""Extract relations: finds how the entities of one text relate, where a few sure patterns of words say so."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from germane.extraction.entities.tokens import folded, kin
from germane.kinds.graph.value import MAX_FOUND, FoundEntity, FoundRelation
from germane.text.normal import fold

_MAX_BETWEEN = 80
"""Characters between two entities that are read."""
_MAX_BEHIND = 40
_WORD = re.compile(r"[^\W_]++(?:['’-][^\W_]++)*+['’]?")
_STOP = re.compile(r"[.!?;\n](?=\s|$)|\n")
_ASKS = re.compile(r"[^.!?\n]{0,200}\?")
_OWNER = re.compile(r"['’]s?\s{1,3}(?P<kin>[^\W_]{2,20}(?:-[^\W_]{2,10}){0,2}),?\s{1,3}")
_OWNED = re.compile(r"['’]s?\s{1,3}(?P<kin>[^\W_]{2,20}(?:-[^\W_]{2,10}){0,2})\b")
_IS = re.compile(r",?\s{1,3}(?:is|was|ist|est)\s{1,3}|,\s{1,3}")
_IN_FILE = re.compile(
    r"[`'\"]?(?:\(\))?[`'\"]?,?\s{1,3}(?:in|inside|from|of|dans|en|em|im|nel file|в файле|w pliku)\s{1,3}(?:the\s)?[`'\"]?"
)
_HOLDS = re.compile(
    r"[`'\"]?(?::|(?:['\"])?,? line \d{1,7}, in|\s(?:defines|contains|exports|declares))\s{1,3}(?:the\s|a\s)?[`'\"]?"
)
_IMPORTS = re.compile(r"[`'\"]?\s(?:imports|requires|includes)\s{1,3}(?:the\s)?[`'\"]?")
_OF = re.compile(r"\s(?:from|of|with|von der|von|de la société|de|van|z firmy|da|из)\s(?:the\s)?")
_AND = re.compile(r",?\s{1,3}(?:and|und|et|y|e|en|i|и)\s|, ")
_LISTED = re.compile(r",\s{1,3}(?:and\s)?|\s(?:and|und|et|y|e|en|i|и)\s")
_TIME = re.compile(
    r"\s{0,3},?\s{0,3}(?P<word>[^\W\d_]{1,10}(?:['’][^\W\d_]{1,4})?)\s(?P<when>(?:[^\W\d_]{2,12}\.?\s){0,2}(?:19|20)\d\d|[^\W\d_]{3,12})"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pattern:
    """A relation that verbs tell, with the words one of which stands right before its target."""

    type: str
    source: str
    target: str
    verbs: frozenset[str]
    before: frozenset[str]
    exclusive: bool


@cache
def _patterns() -> Sequence[_Pattern]:
    table = tomllib.loads(files(__package__).joinpath("lexicon/relations.toml").read_text("utf-8"))
    return tuple(
        _Pattern(
            type=name,
            source=rule["source"],
            target=rule["target"],
            verbs=frozenset(map(fold, rule["verbs"].split())),
            before=frozenset(map(fold, rule["before"].split())),
            exclusive=rule.get("exclusive", False),
        )
        for name, rule in table.items()
        if name != "words"
    )


def _words(name: str) -> frozenset[str]:
    return folded("relations", "words", name)


def extract_relations(
    text: str, found: Sequence[FoundEntity], *, speaker: str = "", said: str | None = None
) -> tuple[FoundRelation, ...]:
    """Returns how the entities relate that `extract_entities` found in `text`, at most 64 relations. What the text says of "I"
    and "my" is said of `speaker`; without one it is left out. Questions, conditions, and what is denied or over, say nothing.
    `said` is the text, of the same length, with what isn't the speaker's own hidden: sentences there state nothing, code does.
    Pure; takes linear time."""
    placed = [one for one in found if one.end]
    self = FoundEntity("person", speaker.strip(), 0, 0, 0.9) if speaker.strip() else None
    made: dict[tuple[str, str, str], FoundRelation] = {}
    for relation in _all(text, text if said is None else said, placed, self):
        made.setdefault((relation.source.name, relation.type, relation.target.name), relation)
        if len(made) == MAX_FOUND:
            break
    return tuple(made.values())


def _all(code: str, text: str, placed: Sequence[FoundEntity], speaker: FoundEntity | None) -> Iterator[FoundRelation]:
    last: FoundRelation | None = None
    for number, target in enumerate(placed):
        before = placed[number - 1] if number else None
        near = before is not None and target.start - before.end <= _MAX_BETWEEN
        if before is not None and near:
            yield from _in_code(before, code[before.end : target.start], target)
        # Hidden: somebody else's words. Code relates all the same, so it was read before from the whole text.
        if not text[target.start : target.end].strip("\0\n"):
            continue
        between = text[before.end : target.start] if before is not None and near else None
        sentence = _lead(text, 0, target)
        if _ASKS.match(text, target.end) or not _words("unreal").isdisjoint(sentence):
            continue
        lead = _lead(text, before.end, target) if before is not None and before.type == "person" else sentence
        if target.type == "person":
            yield from _relatives(text, before, between, target, lead, speaker)
        continued = last if last is not None and before is last.target and between is not None and _AND.match(between) else None
        for relation in _stated(text, before, between, target, lead, speaker, continued):
            yield relation
            last = relation


def _lead(text: str, start: int, target: FoundEntity) -> list[str]:
    """The folded words from `start` to an entity, as far as they stand in its sentence and not far before."""
    start = max(start, target.start - _MAX_BETWEEN)
    window = text[start : target.start]
    # Blanks in place of earlier sentences keep the positions, so that the last stop wins.
    for stop in _STOP.finditer(window):
        start_of = stop.end()
        window = " " * start_of + window[start_of:]
    return [fold(word) for word in _WORD.findall(window)]


def _stated(
    text: str,
    before: FoundEntity | None,
    between: str | None,
    target: FoundEntity,
    lead: Sequence[str],
    speaker: FoundEntity | None,
    continued: FoundRelation | None,
) -> Iterator[FoundRelation]:
    """What a verb says of the person before the target or, in the first person, of the speaker. `continued` is a relation that
    the sentence goes on from with "and"."""
    if (
        continued is not None
        and continued.type == "uses"
        and target.type == "tool"
        and between is not None
        and _LISTED.fullmatch(between)
    ):
        yield continued._replace(target=target)
        return
    source, sure = before, 0.8
    # Who the verb speaks of: the person named just before, or the speaker. Of "Anna thinks I live in Paris" neither is sure
    # enough, and nothing is said.
    own = _first_person(lead)
    if continued is not None:
        before, between, own = continued.source, "", False
    if continued is not None:
        source = continued.source
    elif before is None or between is None or before.type != "person" or _STOP.search(between):
        source = speaker if own else None
    elif own or not between.startswith((" ", ",", "’s ", "'s ")):
        source = None  # "Anna thinks I live in Paris"
    elif target.type == "organisation" and _OF.fullmatch(between):
        yield FoundRelation(before, "works_at", target, 0.55, *_times(text, target), exclusive=True)
    if source is None or not lead or len(lead) > 12:
        return
    # The preposition stands at the target, or before its article: "at Acme", "at the Red Cross".
    nearest = {lead[-1], next((word for word in reversed(lead) if word not in _words("articles")), "")}
    for rule in _patterns():
        if rule.target == target.type and not nearest.isdisjoint(rule.before) and not rule.verbs.isdisjoint(lead):
            yield FoundRelation(source, rule.type, target, sure, *_times(text, target), exclusive=rule.exclusive)
            return


def _first_person(lead: Sequence[str]) -> bool:
    """Whether the words before the target have the speaker as their subject, and nobody else behind it."""
    return not _words("own_subjects").isdisjoint(lead[:4]) or not _words("own_verbs").isdisjoint(lead)


def _times(text: str, target: FoundEntity) -> tuple[str, str]:
    """The words behind the target that say since when and until when."""
    match = _TIME.match(text[target.end : target.end + _MAX_BEHIND])
    if match is None:
        return "", ""
    word = fold(match["word"])
    return (match["when"] if word in _words("since") else "", match["when"] if word in _words("until") else "")


def _relatives(
    text: str,
    before: FoundEntity | None,
    between: str | None,
    target: FoundEntity,
    lead: Sequence[str],
    speaker: FoundEntity | None,
) -> Iterator[FoundRelation]:
    """`my sister Anna`, `Bob's sister Anna`, and `Anna is Bob's sister`."""
    known: Mapping[str, str] = kin()
    if before is not None and between is not None and before.type == "person":
        owner = _OWNER.fullmatch(between)
        if owner and fold(owner["kin"]) in known:
            yield FoundRelation(target, f"{known[fold(owner['kin'])]}_of", before, 0.85)
            return
        owned = _OWNED.match(text, target.end) if _IS.fullmatch(between) else None
        if owned and fold(owned["kin"]) in known:
            yield FoundRelation(before, f"{known[fold(owned['kin'])]}_of", target, 0.8)
            return
    if speaker is None:
        return
    end = len(lead)
    while end and lead[end - 1] in _words("naming"):
        end -= 1
    said = lead[end - 1] if end else ""
    word = said.removesuffix("'s").removesuffix("’s")
    if end > 1 and word in known and lead[end - 2] in _words("own") and target.name != speaker.name:
        yield FoundRelation(target, f"{known[word]}_of", speaker, 0.85)


def _in_code(before: FoundEntity, between: str, target: FoundEntity) -> Iterator[FoundRelation]:
    """Which file holds or imports what, and where an error occurs."""
    match before.type, target.type:
        case "symbol", "file" if _IN_FILE.fullmatch(between):
            yield FoundRelation(target, "contains", before, 0.75)
        case "error", "file" | "symbol" if _IN_FILE.fullmatch(between):
            yield FoundRelation(before, "occurs_in", target, 0.7)
        case "file", "symbol" if _HOLDS.fullmatch(between):
            yield FoundRelation(before, "contains", target, 0.75)
        case "file", "file" | "symbol" | "tool" if _IMPORTS.fullmatch(between):
            yield FoundRelation(before, "imports", target, 0.8)
