"""Injections: records of what was injected for each turn of a session, kept so that it stays where it stands (INJECT-6).

A record is identified by its turn, as keyed hashes that don't tell what was said. The read `SessionInjections` and the
change `PutInjection` are what every store must support.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from datetime import datetime
from typing import ClassVar, NamedTuple

from germane.types.plan import Change, Decision, Plan, Read, TextOf
from germane.types.query import Filters
from germane.types.trace import InjectedItem

_GIVEN = re.compile(r"[a-z]{1,2}[0-9]{1,9}")
"""A handle that germane gave: a letter or two and a number."""
_NAMELESS = "an item"
InjectionKey = tuple[str, int]
"""Identifies a record within its session: its turn, and its occurrence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InjectionHead:
    """A record without its text. `turn` is the keyed hash of the turn's content together with the message before it, `said` of
    its content alone; neither tells what was said. `occurrence` counts the turns of the session with the same `turn` from 1.
    `last_handle` is the highest number of a handle so far. `tokens` are by the tokenizer named `tokenizer`; an empty text has
    none. `created_at` is by the clock."""

    turn: str
    said: str
    occurrence: int
    tokens: int
    tokenizer: str
    last_handle: int
    created_at: datetime
    withdrawn: str = ""
    """Names of the items that were forgotten or updated since (`handles_of`): the text is gone then, and the turn has no text
    any more."""
    prefix: str = ""
    """For a model that binds its thinking to what stands before it (INJECT-10): a keyed hash of all of germane's text up to
    this turn, as the call that made the record sent it. `turn` is then `HumanTurn.chain`. Empty for other models."""

    @property
    def key(self) -> InjectionKey:
        return self.turn, self.occurrence


@dataclass(frozen=True, slots=True, kw_only=True)
class Injection(InjectionHead):
    """A whole record. An empty `text` records that nothing was injected."""

    text: str
    items: tuple[InjectedItem, ...]
    relies_on: tuple[str, ...] = ()
    """Ids of the items that weren't added because they stood at earlier turns of the prompt."""


def handles_of(items: Iterable[InjectedItem]) -> str:
    """Returns the handles of these items for a record that outlives them: a block's handle holds its label, which somebody
    wrote, so that it isn't among them."""
    names = (item.handle if _GIVEN.fullmatch(item.handle) else _NAMELESS for item in items)
    return ", ".join(dict.fromkeys(names)) or "?"


class WantedInjections(NamedTuple):
    """The keys of the records that are to be read whole, and ids of other items of which the store should say whether they may
    be shown; with `presence` also whether they may go on standing (`KeptInjections.present`)."""

    keys: Set[InjectionKey] = frozenset()
    ids: Set[str] = frozenset()
    presence: bool = False


Wanting = Callable[[Sequence[InjectionHead]], WantedInjections]
"""Chooses from the heads of a session's records, oldest first. The store calls it once, in any thread."""


@dataclass(frozen=True, slots=True)
class KeptInjections:
    """What the store answers: the heads of all of a session's records, those records that were wanted whole, both oldest first,
    and the content hashes, by id, of those of their items, and of the ids wanted besides, that the scope may see now.

    `present`, where it is asked for, are those ids of which a text may go on standing (INJECT-10): the item may have changed or
    ended since, but it wasn't forgotten or deleted, and the scope and the sensitivities allow it. Empty where a store doesn't
    know: then no such text stands."""

    heads: tuple[InjectionHead, ...] = ()
    records: tuple[Injection, ...] = ()
    allowed: Mapping[str, int] = field(default_factory=dict)
    present: Set[str] = frozenset()


# The read, the change and the plan, and how much of a session's records is kept.


MAX_RECORDS = 512
"""Records of one session; the oldest go first."""
MAX_BOUND_RECORDS = 2048
"""Likewise for a model that binds its thinking (INJECT-10), as there each text that goes is a refused request."""
MAX_CHARACTERS = 524_288
"""Bytes of all texts of one session, likewise."""
MAX_AGE_DAYS = 30
"""Days after which a record is removed, when its scope's next record is written."""


@dataclass(frozen=True, slots=True)
class SessionInjections(Read[KeptInjections]):
    """What was injected for the turns of the scope's session: the heads of all records, the records that `wanting` chooses from
    them, and which of their items, and of the ids it names, may be shown at `at`, by the rules of `AllowedIds` (INJECT-6). A
    session may have hundreds of records, of which few stand in a prompt. Nothing where the scope has no session."""

    quick: ClassVar[bool] = True
    wanting: Wanting
    at: datetime
    filters: Filters


@dataclass(frozen=True, slots=True)
class PutInjection(Change):
    """Keeps the record for this session of the scope's own user. Nothing is written where one of its items was forgotten
    meanwhile, or changed where the record has no `prefix`. Of two records with the same key the first stays, unless it was
    withdrawn or the new one `replaces` it. Doesn't raise the content's revision."""

    text_of: ClassVar[TextOf] = "its_owner"
    session: str
    injection: Injection
    replaces: bool = False


def keep_injections(changes: Sequence[PutInjection]) -> Plan[int]:
    """Keeps these records; the outcome is their number."""
    yield from ()
    return Decision(tuple(changes), len(changes))
