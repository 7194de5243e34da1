"""Aliases: the form of a name under which an entity is looked up, and whether a found name is one that is known already.

A store keeps an entity under `index_keys` of its name and aliases, and looks a found name up by `lookup_keys`. A key that
begins with `~` is a short form: the words, initials or base name of a longer name. Ambiguity never merges.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import Generic, Literal, Protocol, TypeVar

from germane.kinds.graph.name_forms import (
    first_forms,
    fits_organisation,
    fits_person,
    http_status,
    initials,
    place_alias,
    prefixes,
    tool_alias,
    without_legal_form,
    without_titles,
)
from germane.text.normal import fold

MAX_KEYS = 24
"""Keys of one name."""
MAX_NAME = 256
"""Characters of a name that has short forms; of a longer one the beginning and a hash count."""
SHORT = "~"
"""How the key of a short form begins."""
_MAX_CANDIDATES, _MAX_ALIASES = 16, 32
_MIN_HASH = 7
_EXACT_ONLY = frozenset({"date", "url", "number", "symbol"})


class Named(Protocol):
    """What `resolve` must know of an entity."""

    @property
    def id(self) -> str: ...
    @property
    def type(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def aliases(self) -> tuple[str, ...]: ...


N = TypeVar("N", bound=Named)


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution(Generic[N]):
    """`merge` with the known `entity` that a name stands for; `new` where there is none; `ambiguous` where several
    `candidates` fit, so that the name makes an entity of its own."""

    decision: Literal["merge", "new", "ambiguous"]
    entity: N | None = None
    candidates: tuple[N, ...] = ()


def name_key(name: str, type: str = "") -> str:
    """Returns the name without what spellings differ in: case, accents, width, blanks, a possessive ending; of a person
    titles, of an organisation its legal form, of a ticket `#` and `GH-`. Dates become ISO. Without a `type`, only what is so
    of all of them counts. Two names have the same key only if they are spellings of one name. A name of more than 256
    characters becomes its beginning and a hash; takes linear time. Returns '' for a name without content."""
    if len(name) > MAX_NAME:
        return f"{' '.join(fold(name[:100]).split())} {blake2b(name.encode('utf-8', 'replace'), digest_size=12).hexdigest()}"
    key = _key(name, type)
    return key if key.split() else ""


def forget_names() -> None:
    """Drops the names that this process remembers for speed. To be called after something was forgotten."""
    _key.cache_clear()


@lru_cache(maxsize=1 << 12)
def _key(name: str, type: str) -> str:
    name = name.strip()
    if type == "symbol":
        return name.strip("`").removesuffix("()")
    if type == "url":
        return _url(name)
    if type == "date":
        from germane.extraction.entities.days import date_key

        return date_key(name) or " ".join(fold(name).split())
    key = " ".join(fold(name).split())
    if type in ("file", "commit"):
        return key.strip("`").replace("\\", "/").removeprefix("./")
    for ending in ("'s", "s'"):
        if key.endswith(ending) and len(key) > len(ending) + 1:
            key = key[: -len(ending)] + ("s" if ending == "s'" else "")
    match type:
        case "person":
            return without_titles(key)
        case "organisation":
            return without_legal_form(key)
        case "ticket":
            return key.removeprefix("#").removeprefix("gh-")
        case "error":
            return http_status(key)
        case "tool":
            return tool_alias(key)
        case "place":
            return place_alias(key)
    return key.strip('.,;:!?*_`"') or key


def _url(name: str) -> str:
    scheme, mark, rest = name.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme.lower()}{mark}{host.lower()}{slash}{path}".rstrip("/") if mark else name


def index_keys(name: str, type: str) -> tuple[str, ...]:
    """Returns the keys under which an entity of this name is stored: the name's own first, then its short forms, at most 24."""
    key = name_key(name, type)
    if not key or len(name) > MAX_NAME:
        return (key,) if key else ()
    return tuple(dict.fromkeys([key, *(SHORT + form for form in _short_forms(key, type) if form)]))[:MAX_KEYS]


def lookup_keys(name: str, type: str) -> tuple[str, ...]:
    """Returns the keys under which entities that a found name may stand for are stored: its own first, at most 24."""
    key = name_key(name, type)
    if not key or len(name) > MAX_NAME or type in _EXACT_ONLY:
        return (key,) if key else ()
    keys = [key, SHORT + key]
    words = key.split()
    match type:
        case "person" if len(words) == 1:
            for form in first_forms(key):
                keys += [form, SHORT + form]
        case "person":
            keys += [
                words[0],
                words[-1],
                *(" ".join(words[:size]) for size in range(2, min(len(words), 5))),
                *first_forms(words[0]),
                *(f"{form} {words[-1]}" for form in first_forms(words[0])),
            ]
        case "organisation":
            keys += [*prefixes(words), *([initials(words)] if len(words) > 1 else [])]
        case "file":
            parts = key.split("/")
            keys += ["/".join(parts[at:]) for at in range(1, min(len(parts), 6))]
        case "commit":
            keys += [key[:7], SHORT + key[:7], *(key[:size] for size in range(8, min(len(key), 13)))]
    return tuple(dict.fromkeys(one for one in keys if one and (one != SHORT or one == key)))[:MAX_KEYS]


def _short_forms(key: str, type: str) -> Iterator[str]:
    words = key.split()
    match type:
        case "person":
            if len(words) > 1:
                yield from (words[0], words[-1])
            yield from (words[0][:size] for size in (3, 4, 5) if len(words[0]) > size + 1)
        case "organisation" if len(words) > 1:
            yield from prefixes(words)
            yield initials(words)
        case "file" if "/" in key:
            parts = key.split("/")
            yield from ("/".join(parts[-size:]) for size in range(1, min(len(parts), 6)))
        case "commit" if len(key) > 7:
            yield key[:7]


def resolve(name: str, type: str, known: Mapping[str, Sequence[N]]) -> Resolution[N]:
    """Decides which known entity a found name of this type stands for. `known` has entities by each of the `lookup_keys` under
    which they are stored; nothing else of it is read. An entity whose name or alias has the same key comes first, of several
    the one whose own name it is; else a short form counts where exactly one entity fits and none of its names contradicts."""
    key = name_key(name, type)
    if not key:
        return Resolution(decision="new")
    same = [one for one in _of_type(known.get(key, ()), type) if key in _keys(one)]
    if not same:
        return _by_short_forms(name, key, type, known)
    own = [one for one in same if name_key(one.name, type) == key]
    return _decided({one.id: one for one in own or same})


def _by_short_forms(name: str, key: str, type: str, known: Mapping[str, Sequence[N]]) -> Resolution[N]:
    found = dict[str, N]()
    for form in lookup_keys(name, type):
        for one in _of_type(known.get(form, ()), type)[:_MAX_CANDIDATES]:
            if one.id not in found and _fits(key, type, _keys(one)):
                found[one.id] = one
        if len(found) > 1:
            break
    return _decided(found)


def _decided(found: Mapping[str, N]) -> Resolution[N]:
    match list(found.values()):
        case []:
            return Resolution(decision="new")
        case [one]:
            return Resolution(decision="merge", entity=one)
        case several:
            return Resolution(decision="ambiguous", candidates=tuple(several))


def _of_type(entities: Sequence[N], type: str) -> list[N]:
    return [one for one in entities if one.type == type]


def _keys(entity: Named) -> list[str]:
    return [name_key(name, entity.type) for name in (entity.name, *entity.aliases[:_MAX_ALIASES])]


def _fits(key: str, type: str, others: Iterable[str]) -> bool:
    """Whether a name may be another form of each of these names, and of one of them for sure."""
    match type:
        case "person":
            return fits_person(key, others)
        case "organisation":
            return any(fits_organisation(key, other) for other in others)
        case "file":
            return all(_ends(key, other) or _ends(other, key) for other in others)
        case "commit":
            return all(
                min(len(key), len(other)) >= _MIN_HASH and (key.startswith(other) or other.startswith(key)) for other in others
            )
    return False


def _ends(path: str, end: str) -> bool:
    return path == end or path.endswith("/" + end)
