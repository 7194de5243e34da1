"""Partition: the searchable units of one user, or those an agent's users share, as arrays in memory.

A store fills it from its stored rows. The parts of a long text are rows of their own with the same key, neighbours as
messages are. Rows are in order of arrival; `before` and `after` link each row to its neighbours by time in its session. A
message that arrives late is inserted by linking its session anew, and a dropped or replaced unit leaves no gap: the same
units are linked the same way, whatever their order of arrival. Windows and sessions need no index of their own. Adding and
dropping take a lock; a search takes none, as it reads the rows that were published when it began.

Beside the rows are the filter of a query and the names of a partition's speakers.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

import numpy as np
from numpy.typing import NDArray

from germane.search.columns import Columns, Postings
from germane.search.quantised import decode
from germane.search.unit import ASSISTANT, KIND_CODES, SENSITIVITY_CODES, Unit
from germane.text.normal import fold
from germane.types.query import Query

BLOCK = 40
"""Units of a session that form one block, the document of BM25's session score, at most."""

_COLUMNS = {
    "key": (np.int64, ()),
    "session": (np.int32, ()),
    "created_at": (np.float64, ()),
    "flags": (np.uint16, ()),
    "speaker": (np.uint32, ()),
    "sensitivity": (np.int8, ()),
    "kind": (np.int8, ()),
    "valid_from": (np.float64, ()),
    "valid_to": (np.float64, ()),
    "words": (np.int32, ()),
    "tokens": (np.int32, ()),
    "part": (np.int32, ()),
    "start": (np.int64, ()),
    "stop": (np.int64, ()),
    "length": (np.float32, ()),
    "offset": (np.int64, ()),
    "before": (np.int32, ()),
    "after": (np.int32, ()),
    "position": (np.int32, ()),
    "block": (np.int32, ()),
    "alive": (np.bool_, ()),
}

_PART = Unit._fields.index("part")
_MAX_PARTS = 1 << 20
"""More parts than any text has."""
_OBJECTS, _SNAPSHOT, _SNAPSHOT_ROW = 6_000, 6_000, 120
"""Bytes of a partition's objects besides the numbers in its arrays, of its snapshot's objects once there are rows, and of the
snapshot's numbers for each row, as measured: of a user of few messages the objects are most."""


class Partition:
    """`revision` is the store's revision that these arrays reflect; the store sets it."""

    def __init__(self, dimension: int) -> None:
        self.revision = 0
        self.columns = Columns({**_COLUMNS, "vector": (np.int8, (dimension,)), "scale": (np.float32, ())})
        self.terms = Columns({"term": (np.uint32, ())})
        self.postings = Postings()
        self.blocks = 0
        self.assistant_sessions: set[int] = set()
        """Sessions in which an assistant speaks, by their numbers in this partition."""
        self.dropped = 0
        """Rows of units that were dropped or replaced."""
        self.has_validity = False
        """Whether any unit is valid for a limited time only."""
        self.sensitivities: set[int] = set()
        """The sensitivity codes that occur."""
        self.has_parts = False
        """Whether any unit is a part of a long text."""
        self.version = 0
        """Rises with every change."""
        self.relinked_version = 0
        """The version in which rows were last linked in another way than by being appended to their sessions."""
        self.snapshot_state: Any = None
        """Owned by `snapshot.py`, which holds `snapshot_lock` while it uses it."""
        self.snapshot_lock = threading.Lock()
        self._dimension = dimension
        self._sessions: dict[int, int] = {}
        self._last: dict[int, int] = {}
        self._block: dict[int, int] = {}
        self._highest = -1
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return self.columns.rows - self.dropped

    @property
    def nbytes(self) -> int:
        """Bytes in memory, with those of its snapshot: measured within a fifth for 1 to 5,000 units."""
        arrays, rows = self.columns.nbytes + self.terms.nbytes + self.postings.nbytes, self.columns.rows
        snapshot = _SNAPSHOT + _SNAPSHOT_ROW * rows if rows else 0
        return _OBJECTS + arrays + snapshot + 200 * len(self._sessions)

    def place(self, row: int) -> tuple[int, int]:
        """First byte and end of the part of a long text that this row is; zeros for a text that isn't long."""
        return int(self.columns["start"][row]), int(self.columns["stop"][row])

    def session_number(self, session: int) -> int | None:
        """The number in this partition of the store's session; None where no unit is of that session."""
        return self._sessions.get(session)

    def extend(self, units: Sequence[Unit] | Sequence[tuple[Any, ...]]) -> None:
        """Adds units, in any order of time. A unit whose key and part are present replaces the earlier one."""
        if not units:
            return
        with self._lock:
            latest = {(unit[0], unit[_PART]): unit for unit in units}
            fields = dict(zip(Unit._fields, zip(*latest.values(), strict=True), strict=True))
            keys = np.array(fields["key"], np.int64)
            stale = np.empty(0, np.int32)
            if keys.min() <= self._highest:
                stale = self._sessions_of(self._mark_dropped(keys, np.array(fields["part"], np.int64)))
            self._highest = max(self._highest, int(keys.max()))
            self._append(len(latest), keys, fields, stale)

    def drop(self, keys: Iterable[int]) -> None:
        """Drops units by key. They are no longer found and no longer count in windows and blocks, and nothing of their words
        and vectors is left. Unknown keys are ignored."""
        named = np.fromiter(keys, np.int64)
        if not len(named):
            return
        with self._lock:
            self._relink(self._sessions_of(self._mark_dropped(named)), self.columns.rows)
            self._blank(np.flatnonzero(np.isin(self.columns["key"][: self.columns.rows], named)))
            self.version += 1

    def _blank(self, rows: NDArray[np.intp]) -> None:
        """Removes the words of these rows, which are dropped; earlier versions of a unit are among them."""
        self.postings.drop(rows)
        offsets, lengths = (self.columns[name][rows].astype(np.int64).tolist() for name in ("offset", "length"))
        for offset, length in zip(offsets, lengths, strict=True):
            self.terms["term"][offset : offset + length] = 0

    def _sessions_of(self, rows: NDArray[np.intp]) -> NDArray[np.int32]:
        """The sessions of dropped rows, which must be linked anew."""
        return np.unique(self.columns["session"][rows])

    def _mark_dropped(self, keys: NDArray[np.int64], parts: NDArray[np.int64] | None = None) -> NDArray[np.intp]:
        """Drops these keys, or these parts of them. Returns the dropped rows, in order."""
        self.relinked_version = self.version + 1
        rows = self.columns.rows
        named = np.isin(self.columns["key"][:rows], keys) & self.columns["alive"][:rows]
        if parts is not None and (self.has_parts or parts.any()):
            there = self.columns["key"][:rows] * _MAX_PARTS + self.columns["part"][:rows]
            named &= np.isin(there, keys * _MAX_PARTS + parts)
        gone = np.flatnonzero(named)
        self.columns["alive"][gone] = False
        self.columns["vector"][gone] = 0
        self.columns["scale"][gone] = 0
        self.dropped += len(gone)
        return gone

    def _append(self, count: int, keys: NDArray[np.int64], fields: dict[str, Any], stale: NDArray[np.int32]) -> None:
        first = self.columns.rows
        rows = np.arange(first, first + count, dtype=np.int32)
        lengths = np.fromiter(map(len, fields["terms"]), np.int64, count) // 4
        terms = np.frombuffer(b"".join(fields["terms"]), "<u4")
        empty = np.zeros(count, np.int32)
        values: dict[str, NDArray[Any]] = {
            name: np.array(fields[name], dtype)
            for name, (dtype, _) in _COLUMNS.items()
            if name in fields and name not in ("key", "session")
        }
        values |= {"key": keys, "session": self._locals(fields["session"]), "length": lengths.astype(np.float32)}
        values |= {"offset": self.terms.rows + np.cumsum(lengths) - lengths, "alive": np.ones(count, np.bool_)}
        values |= dict(zip(("vector", "scale"), decode(fields["vector"], self._dimension), strict=True))
        values |= {"before": empty - 1, "after": empty - 1, "position": empty, "block": empty}
        self.has_validity |= bool(np.isfinite(values["valid_from"]).any() or np.isfinite(values["valid_to"]).any())
        self.has_parts = self.has_parts or bool(values["part"].any())
        self.sensitivities.update(np.unique(values["sensitivity"]).tolist())
        self.terms.append(len(terms), {"term": terms})
        self.columns.write(count, values)
        self._link(rows, stale)
        self.postings.add(np.repeat(rows, lengths), terms)
        self.columns.publish(count)
        self.version += 1

    def _locals(self, sessions: Sequence[int]) -> NDArray[np.int32]:
        known = self._sessions
        distinct, inverse = np.unique(np.array(sessions, np.int64), return_inverse=True)
        numbers = [known.setdefault(session, len(known)) for session in distinct.tolist()]
        return np.array(numbers, np.int32)[inverse]

    def _link(self, rows: NDArray[np.int32], stale: NDArray[np.int32]) -> None:
        """Links new rows: to the end of their session or, where a row arrived late, the whole session anew."""
        columns = self.columns
        session, created, key, part = (columns[name] for name in ("session", "created_at", "key", "part"))
        order = rows[np.lexsort((part[rows], key[rows], created[rows], session[rows]))]
        firsts = order[_heads(session[order])]
        lasts = np.array([self._last.get(local, -1) for local in session[firsts].tolist()], np.int32)
        further = (key[lasts] > key[firsts]) | ((key[lasts] == key[firsts]) & (part[lasts] > part[firsts]))
        tied = (created[lasts] == created[firsts]) & further
        late = (lasts >= 0) & ((created[lasts] > created[firsts]) | tied) | np.isin(session[firsts], stale)
        timely = ~np.isin(session[order], session[firsts[late]])
        self._chain(order[timely], lasts[~late])
        self._relink(np.union1d(session[firsts[late]], stale), int(rows[-1]) + 1)

    def _relink(self, sessions: NDArray[np.int32], rows: int) -> None:
        """Links all rows of these sessions anew, dropped ones left out."""
        if not len(sessions):
            return
        self.relinked_version = self.version + 1
        columns = self.columns
        session, created, key, part = (columns[name][:rows] for name in ("session", "created_at", "key", "part"))
        for local in sessions.tolist():
            self._last.pop(local, None)
            self.assistant_sessions.discard(local)
        members = np.flatnonzero(np.isin(session, sessions) & columns["alive"][:rows]).astype(np.int32)
        order = members[np.lexsort((part[members], key[members], created[members], session[members]))]
        self._chain(order, np.full(len(_heads(session[order])), -1, np.int32))

    def _chain(self, order: NDArray[np.int32], lasts: NDArray[np.int32]) -> None:
        """Links the rows of `order`, which come session by session in order of time. `lasts` holds the row that each session
        ended with so far, −1 for a new session."""
        if not len(order):
            return
        columns = self.columns
        before, after, position = (columns[name] for name in ("before", "after", "position"))
        session = columns["session"][order]
        heads = _heads(session)
        counts = np.diff(heads, append=len(order))
        earlier, later = np.roll(order, 1), np.roll(order, -1)
        earlier[heads], later[heads - 1] = lasts, -1
        before[order], after[order] = earlier, later
        known = lasts >= 0
        after[lasts[known]] = order[heads[known]]
        begin = np.where(known, position[lasts] + 1, 0)
        new_position = np.arange(len(order)) + np.repeat(begin - heads, counts)
        position[order] = new_position
        columns["block"][order] = self._blocks(session, new_position // BLOCK)
        self._last.update(zip(session[heads].tolist(), order[heads + counts - 1].tolist(), strict=True))
        self.assistant_sessions.update(np.unique(session[(columns["flags"][order] & ASSISTANT) > 0]).tolist())

    def _blocks(self, session: NDArray[np.int32], number: NDArray[np.int64]) -> NDArray[np.int32]:
        pairs, inverse = np.unique(session.astype(np.int64) << 32 | number, return_inverse=True)
        known = self._block
        numbers = np.fromiter((known.setdefault(pair, len(known)) for pair in pairs.tolist()), np.int32, len(pairs))
        self.blocks = len(known)
        return numbers[inverse]


def _heads(session: NDArray[np.int32]) -> NDArray[np.intp]:
    """Returns the index at which each run of equal numbers begins."""
    return np.flatnonzero(np.concatenate(([True], session[1:] != session[:-1]))) if len(session) else np.empty(0, np.intp)


# The rows of a partition that a query's filters let through (GATHER-4, GATHER-5, GATHER-6).


def allowed_rows(partition: Partition, rows: int, query: Query, at: float, allowed: Set[int] | None) -> NDArray[np.bool_]:
    """Returns a mask of shape (rows,) over the first `rows` rows. `at` is the time asked about, in seconds since the epoch.
    `allowed` restricts the rows to those with these keys; None doesn't."""
    columns, filters = partition.columns, query.filters
    may = columns["alive"][:rows].copy()
    codes = [SENSITIVITY_CODES[name] for name in filters.sensitivities if name in SENSITIVITY_CODES]
    if partition.sensitivities - set(codes):
        may &= _table(codes)[columns["sensitivity"][:rows]]
    if partition.has_validity and not filters.with_ended:
        may &= (columns["valid_from"][:rows] <= at) & (at < columns["valid_to"][:rows])
    if filters.since is not None:
        may &= columns["created_at"][:rows] >= filters.since.timestamp()
    if filters.until is not None:
        may &= columns["created_at"][:rows] <= filters.until.timestamp()
    if filters.kinds is not None:
        may &= _table([KIND_CODES[kind] for kind in filters.kinds if kind in KIND_CODES])[columns["kind"][:rows]]
    if allowed is not None:
        may &= np.isin(columns["key"][:rows], np.fromiter(allowed, np.int64, len(allowed)))
    return may


def _table(codes: Sequence[int]) -> NDArray[np.bool_]:
    """Returns a lookup table of shape (128,): true at each of `codes`."""
    table = np.zeros(128, np.bool_)
    table[list(codes)] = True
    return table


# The names under which a partition's messages were recorded, found by the words of a text.


_PUNCTUATION = str.maketrans(dict.fromkeys(".,;:!?\"'()[]{}«»“”‘’…-", " "))
_WORD = re.compile(r"\w+")
_NAME_BYTES, _WORD_BYTES = 130, 180
"""What a short name and a word that no other name has take."""


def words_said(text: str) -> Set[str]:
    """Returns the folded words of a text, without possessives and punctuation."""
    return set(fold(text).replace("'s", " ").replace("’s", " ").translate(_PUNCTUATION).split())


def named_in(text: str, speakers: Mapping[int, str]) -> int | None:
    """Returns the hash of the one speaker whose name, or a word of it, stands in the text; None for no or several such.
    `speakers` maps hashes to names."""
    words = words_said(text)
    named = [code for code, name in speakers.items() if words & set(fold(name).split())]
    return named[0] if len(named) == 1 else None


def name_words(text: str) -> Set[str]:
    """Returns the words of a text by which a name may be found in it: folded, and as they are but for their case."""
    return {*words_said(text), *_WORD.findall(text.casefold())}


class Speakers:
    """The speakers of one partition. A name is found by its words, so that a text is compared with a few names and not with
    all: where thousands of people speak to one agent, comparing took longer than the rest of an assembly."""

    __slots__ = ("_by_word", "_codes")

    def __init__(self, names: Iterable[tuple[int, str]] = ()) -> None:
        """`names` are hashes of the speaker column, and names."""
        self._codes: dict[str, int] = {}
        self._by_word: dict[str, list[str]] = {}
        self.add(names)

    def __len__(self) -> int:
        return len(self._codes)

    @property
    def nbytes(self) -> int:
        """Bytes in memory, estimated."""
        return _NAME_BYTES * len(self._codes) + _WORD_BYTES * len(self._by_word)

    def add(self, names: Iterable[tuple[int, str]]) -> None:
        """Adds names; those that are known stay."""
        for code, name in names:
            if name not in self._codes:
                self._codes[name] = code
                for word in {*fold(name).split(), *_WORD.findall(name.casefold())}:
                    self._by_word.setdefault(word, []).append(name)

    def said_in(self, text: Set[str]) -> dict[str, int]:
        """Returns the names that have a word in common with a text (`name_words`), and their hashes: all that `named_in` can
        name, and that the text is embedded without."""
        return {name: self._codes[name] for word in text & self._by_word.keys() for name in self._by_word[word]}
