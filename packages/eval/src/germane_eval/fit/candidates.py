"""Candidates: what a search found for one question: evidence, relevance and token costs as arrays.

A fit sees nothing else: no text and no store. `collect.py` makes such lists from a data set.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from hashlib import sha256
from heapq import heapify, heappop, heappush
from importlib.resources import files
from importlib.resources.abc import Traversable
from math import log
from pathlib import Path
from typing import Any, NamedTuple
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from germane.errors import InvalidInput
from germane.search.relevance import NEIGHBOUR_STEPS, Relevance, neighbours
from germane.types.evidence import FEATURES

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """The n candidates of one question, in the order they were found. Each array has one row for each candidate."""

    dataset: str = ""
    conversation: str
    """The conversation in its data set. Cross-validation never splits its questions."""
    question: str
    category: str = ""
    wanted: int
    """Number of messages that hold the answer, found or not."""
    units: int
    """Number of messages and memories that were searched."""
    table: Floats
    """The evidence, shape (n, len(FEATURES)); a missing cosine is NaN."""
    relevant: NDArray[np.bool_]
    """Whether the candidate is, or is a part of, a message that holds the answer."""
    message: NDArray[np.int32]
    """Number of the message that the candidate is, or is a part of."""
    share: Floats
    """The share of that message's characters that the candidate holds, [0, 1]."""
    cost: NDArray[np.int32]
    """Tokens of the candidate's rendered line."""
    group: NDArray[np.int32]
    """Number of the header that the candidate is rendered under."""
    header: NDArray[np.int32]
    """Tokens of that header."""
    session: NDArray[np.int64]
    """Number of the session it was said in; −1 for what has no place in a session."""
    position: NDArray[np.int64]
    """Its place in that session, from 0."""
    keywords: bool = False
    """Whether keywords alone found the candidates."""
    fixed: int = 0
    """Tokens of the wrapper around all items."""
    created: Floats
    """Time of each candidate, in seconds since the epoch."""
    needed: bool = True
    """False for a request that needs no memory: such a list has nothing relevant in it."""
    shipped: bool = False
    """Whether it is one of the turns without need that come with germane, not a question of the data set."""
    terms: int = 0
    """Content words of the question itself."""
    words: int = 0
    """All its words."""
    asks: bool = False
    """Whether it asks something."""
    personal: bool = False
    """Whether it speaks of the user's own affairs."""
    at: float
    """Time of the question, in seconds since the epoch."""

    def __len__(self) -> int:
        return len(self.relevant)

    def __repr__(self) -> str:
        return f"<Candidates {self.conversation}/{self.question} {int(self.relevant.sum())} of {len(self)}>"


_ROWS = ("table", "relevant", "message", "share", "cost", "group", "header", "session", "position", "created")


def take_rows(one: Candidates, rows: NDArray[Any] | Sequence[int]) -> Candidates:
    """`one` with only these rows, given as a mask or as indices."""
    return replace(one, **{name: getattr(one, name)[rows] for name in _ROWS})


# The feature `neighbours` of kept candidates, from the probabilities that a model gives them in its first pass. A
# search computes this feature by the model it uses, so that kept lists of candidates can't hold it: each model that a
# fit tries gets its own. A search follows the links of the store; here a neighbour is the next message of the same
# session.


NEIGHBOURS = FEATURES.index("neighbours")
_SESSION_STRIDE = np.int64(1) << 32


def neighbour_rows(one: Candidates) -> NDArray[np.intp]:
    """Indices of the candidates up to four messages before and after each, −1 where the list has none: the argument of
    `neighbours`, shape (2, steps, n)."""
    if not len(one):
        return np.empty((2, NEIGHBOUR_STEPS, 0), np.intp)
    place = one.session * _SESSION_STRIDE + one.position
    order = np.argsort(place, kind="stable")
    steps = np.arange(1, NEIGHBOUR_STEPS + 1)
    wanted = place + np.stack((-steps, steps))[:, :, None]
    found = np.minimum(np.searchsorted(place[order], wanted), len(one) - 1)
    there = (place[order][found] == wanted) & (one.session >= 0)
    return np.where(there, order[found], -1)


def rescore(one: Candidates, relevance: Relevance) -> Candidates:
    """The same candidates, with `neighbours` as a search with this model has it."""
    table = one.table.copy()
    table[:, NEIGHBOURS] = 0.0
    table[:, NEIGHBOURS] = neighbours(neighbour_rows(one), relevance.log_odds(table))
    return replace(one, table=table)


# Divides candidate lists into cross-validation folds of whole conversations. Questions of one conversation share its
# words, its people and the habits of whoever labelled it. A model that was fitted on some of them knows too much about
# the others, so they are never on both sides of a fold.


def folds(lists: Sequence[Candidates], max_folds: int | None = None) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Yields (indices to fit on, indices to hold out) into `lists` for each fold. By default each conversation is a fold;
    `max_folds` joins them to that many folds of about equally many questions. Yields nothing for fewer than two
    conversations."""
    names = [(one.dataset, one.conversation) for one in lists]
    sizes = {name: names.count(name) for name in dict.fromkeys(names)}
    if len(sizes) < 2:
        return
    count = len(sizes) if max_folds is None else max(2, min(max_folds, len(sizes)))
    loads, fold = [0] * count, {}
    for name in sorted(sizes, key=lambda name: (-sizes[name], name)):
        fold[name] = loads.index(min(loads))
        loads[fold[name]] += sizes[name]
    number = np.array([fold[name] for name in names])
    for held in range(count):
        yield np.flatnonzero(number != held), np.flatnonzero(number == held)


# Candidate lists in a file, so that the next fit needs no store and no embedder. The file is a numpy archive with the
# arrays of all lists end to end, and with their origin: the data, the embedder, and a fingerprint of the code that
# computes evidence. A file of another origin is ignored, because its evidence may differ. The model's coefficients
# don't count as origin: they only decide which candidates are at the end of a list.


_VERSION = 4
_ARRAYS = ("table", "relevant", "message", "share", "cost", "group", "header", "session", "position", "created")
_EVIDENCE_CODE = ("types/evidence.py", "search", "stages/read", "text", "stages/gather", "stages/score")


def evidence_code() -> str:
    """A fingerprint (16 hexadecimal digits) of the source files that compute evidence."""
    digest = sha256()
    for name in _EVIDENCE_CODE:
        for source in _sources(files("germane").joinpath(name)):
            digest.update(source.read_bytes())
    return digest.hexdigest()[:16]


def _sources(place: Traversable) -> list[Traversable]:
    if place.is_file():
        return [place] if place.name.endswith(".py") else []
    return [found for inner in sorted(place.iterdir(), key=lambda one: one.name) for found in _sources(inner)]


def save_candidates(path: Path, lists: Sequence[Candidates], origin: Mapping[str, Any]) -> None:
    """Writes `lists` and their `origin`, which must be plain JSON. Raises `InvalidInput` where the file can't be written."""
    plain = [field.name for field in fields(Candidates) if field.name not in _ARRAYS]
    head = {
        "version": _VERSION,
        "features": list(FEATURES),
        "origin": dict(origin),
        "lists": [{"rows": len(one), **{name: getattr(one, name) for name in plain}} for one in lists],
    }
    arrays: dict[str, Any] = {name: np.concatenate([getattr(one, name) for one in lists]) for name in _ARRAYS} if lists else {}
    try:
        with path.open("wb") as file:
            np.savez_compressed(file, head=np.array(json.dumps(head)), **arrays)
    except OSError as error:
        raise InvalidInput(f"{path} can't be written: {error.strerror}") from error


def load_candidates(path: Path, origin: Mapping[str, Any]) -> list[Candidates] | None:
    """Reads the lists that `keep` wrote. Returns None where there is no file, or where its origin differs. Raises
    `InvalidInput` for a file of another kind."""
    if not path.exists():
        return None
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as archive:
            head = json.loads(str(archive["head"]))
            if (head["version"], head["features"], head["origin"]) != (_VERSION, list(FEATURES), dict(origin)):
                return None
            arrays = {name: archive[name] for name in _ARRAYS} if head["lists"] else {}
    except (OSError, EOFError, ValueError, KeyError, TypeError, BadZipFile) as error:
        raise InvalidInput(f"{path} isn't a file of kept candidate lists: give another file, or remove it") from error
    found, start = [], 0
    for entry in head["lists"]:
        rows = slice(start, start := start + entry.pop("rows"))
        found.append(Candidates(**entry, **{name: array[rows] for name, array in arrays.items()}))
    return found


# Estimates the recall of a fit with a fast model of the packer, which knows costs but no texts. It takes candidates as
# the stage `pack` does: the highest probability per token first, and the first item of a group pays for its header. A
# long message is shown as a passage of fixed size that counts as the whole message. Left out are the recount of the
# final text, near-duplicates, and excerpts that grow. It compares fits within a second; `germane eval` measures the
# packer itself.


BUDGETS = (250, 500, 1000, 2000)

_PRICE = 0.7
"""Exponent of the cost in the packing order."""
_MAX_WHOLE_TOKENS, _PASSAGE_TOKENS, _MIN_TOKENS_LEFT = 96, 48, 24
"""Tokens: longer items become a passage; size of a passage; packing ends when less is left."""
_MAX_CANDIDATES = 80
"""Candidates that the sources of a strategy offer to the packer."""


class Packed(NamedTuple):
    """The candidates of one question that fit a budget."""

    share: float
    """The shown share of the messages that hold the answer, [0, 1]."""
    tokens: int
    rows: tuple[int, ...]
    """Rows of the shown candidates, in the order they were taken."""


def pack_candidates(
    one: Candidates, log_odds: NDArray[np.float64], budget: int, *, max_candidates: int = _MAX_CANDIDATES
) -> Packed:
    """Packs the best `max_candidates` candidates into `budget` tokens, wrapper included. `log_odds` has shape (n,); candidates
    with −∞ are left out."""
    best = [row for row in np.argsort(-log_odds, kind="stable")[:max_candidates].tolist() if log_odds[row] > -np.inf]
    cost = np.where(one.cost > _MAX_WHOLE_TOKENS, _PASSAGE_TOKENS, one.cost).tolist()
    header, group, odds = one.header.tolist(), one.group.tolist(), log_odds.tolist()
    heap = [(_PRICE * log(cost[row] + header[row] + 2) - odds[row], row) for row in best]
    heapify(heap)
    members: dict[int, list[int]] = {}
    for row in best:
        members.setdefault(group[row], []).append(row)
    left = budget - one.fixed
    opened: set[int] = set()
    done: dict[int, None] = {}
    taken: dict[int, None] = {}
    shown: dict[int, float] = {}
    while heap and left >= _MIN_TOKENS_LEFT:
        row = heappop(heap)[1]
        if row in done:
            continue
        done[row] = None
        around = 0 if group[row] in opened else header[row]
        whole = cost[row] + around
        if whole > left:
            continue
        left -= whole
        taken[row] = None
        if one.relevant[row]:
            message = int(one.message[row])
            shown[message] = min(1.0, shown.get(message, 0.0) + one.share[row])
        if group[row] not in opened:
            opened.add(group[row])
            for other in members[group[row]]:
                if other not in done:
                    heappush(heap, (_PRICE * log(cost[other] + 2) - odds[other], other))
    return Packed(share=sum(shown.values()) / max(1, one.wanted), tokens=budget - left, rows=tuple(taken))


def recall(
    lists: Sequence[Candidates], log_odds: Sequence[NDArray[np.float64]], budgets: Sequence[int] = BUDGETS
) -> Mapping[str, float]:
    """Means over the questions, in per cent: `r250` (and so on) is the shown share of the evidence within 250 tokens, and
    `a1000` the share of questions with all of their evidence within 1000. `log_odds` has one array for each list."""
    found: dict[str, float] = {}
    for budget in budgets:
        shares = np.array([pack_candidates(one, odds, budget).share for one, odds in zip(lists, log_odds, strict=True)])
        found[f"r{budget}"] = 100 * float(shares.mean()) if len(shares) else 0.0
        if budget == 1000:
            found["a1000"] = 100 * float((shares > 0.999).mean()) if len(shares) else 0.0
    return found
