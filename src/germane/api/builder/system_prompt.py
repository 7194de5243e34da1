"""System prompt: its blocks, in their order, that fit into the tokens for memory, and its section of activity (BUILD-2).

The order of the prompt is: base instructions, directive, core blocks, working blocks, activity, tool rules. Of the blocks the
agent's own come first, then those shared with it, each by label. Where the tokens for memory don't suffice, blocks go in in
this order; a block of the core that doesn't fit is shortened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, tzinfo
from itertools import islice
from typing import Literal, Protocol

from germane.clock import aware
from germane.errors import InvalidInput
from germane.stages.write.escape import clean, clip, escape_text, grapheme_floor
from germane.stages.write.item_text import write_block
from germane.text.templates import neutralise_line
from germane.types.candidate import BlockText
from germane.types.checks import check_size, check_text
from germane.types.limits import ID, Limit

_SHORTENED_MARK = "\n[… {left:,} of {all:,} characters left out]"
_MIN_SHORTENED = 64
"""Tokens below which no shortened block is worth its place."""
_MAX_MISSES = 8
"""Blocks in a row that don't fit, after which no further one is tried."""

BlockPlace = Literal["core", "working"]


class PromptBlocks(Protocol):
    """Where a builder reads an agent's blocks: what the agent may see, its own and those shared with it."""

    async def blocks_for_prompt(self, references: Sequence[str]) -> Sequence[BlockText]:
        """Returns the core blocks, the pinned working blocks, and those that `references` name by id or label."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownBlock:
    """A block in the prompt: `text` as written, `tokens` of the model. `reason` says why it is there: `core`, `pinned` or
    `referenced`. `shortened` says that its content was cut."""

    block: BlockText
    text: str
    tokens: int
    reason: str
    shortened: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class UnshownBlock:
    """A block that isn't in the prompt: `not_referenced` (neither pinned nor referenced), `unknown` (a reference to nothing the
    agent may see), `budget` (the tokens for memory don't suffice)."""

    label: str
    reason: Literal["not_referenced", "unknown", "budget"]


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockPacking:
    """The blocks that go in, in their order, and those that don't. `tokens` are those of all that go in."""

    core: tuple[ShownBlock, ...] = ()
    working: tuple[ShownBlock, ...] = ()
    left_out: tuple[UnshownBlock, ...] = ()

    @property
    def tokens(self) -> int:
        return sum(each.tokens for each in (*self.core, *self.working))

    @property
    def shown(self) -> tuple[ShownBlock, ...]:
        return (*self.core, *self.working)


def pack_blocks(
    blocks: Iterable[BlockText],
    references: Sequence[str],
    *,
    available: int,
    count: Callable[[str], int],
    nonce: str,
    descriptions: bool = True,
    schemas: bool = False,
) -> BlockPacking:
    """Returns the blocks to show within `available` tokens: those of the core, and of the others those that are pinned working
    blocks or referenced."""
    ordered = sorted({block.id: block for block in blocks}.values(), key=_order)
    wanted = frozenset(references)
    left_out: list[UnshownBlock] = []
    placed: dict[BlockPlace, list[ShownBlock]] = {"core": [], "working": []}
    chosen: list[tuple[BlockPlace, BlockText, str]] = []
    for block in ordered:
        if reason := _reason(block, wanted):
            chosen.append(("core" if reason == "core" else "working", block, reason))
        else:
            left_out.append(UnshownBlock(label=block.label, reason="not_referenced"))
    misses = 0
    for place, block, reason in sorted(chosen, key=lambda each: each[0] != "core"):
        shown = None
        if misses < _MAX_MISSES:
            shown = _fitting(block, reason, available, count, nonce, descriptions=descriptions, schemas=schemas)
        if shown is None:
            misses += 1
            left_out.append(UnshownBlock(label=block.label, reason="budget"))
            continue
        misses = 0
        placed[place].append(shown)
        available -= shown.tokens
    known = {name for block in ordered for name in (block.id, block.label)}
    left_out += [UnshownBlock(label=name, reason="unknown") for name in references if name not in known]
    return BlockPacking(core=tuple(placed["core"]), working=tuple(placed["working"]), left_out=tuple(left_out))


def _order(block: BlockText) -> tuple[object, ...]:
    return (block.shared_from is not None, block.label, block.shared_from or "", block.id)


def _reason(block: BlockText, wanted: frozenset[str]) -> str:
    if block.type == "core":
        return "core"
    if block.type == "working" and block.pinned:
        return "pinned"
    return "referenced" if block.id in wanted or block.label in wanted else ""


def _fitting(
    block: BlockText,
    reason: str,
    available: int,
    count: Callable[[str], int],
    nonce: str,
    *,
    descriptions: bool,
    schemas: bool,
) -> ShownBlock | None:
    """The block as written where it fits; one of the core shortened where it doesn't; else None."""

    def written(text: str | None = None) -> tuple[str, int]:
        out = write_block(block, nonce, description=descriptions, schema=schemas, text=text)
        return out, count(out) + 1  # the lines between two parts

    whole, tokens = written()
    if tokens <= available:
        return ShownBlock(block=block, text=whole, tokens=tokens, reason=reason)
    if reason != "core" or available < _MIN_SHORTENED:
        return None
    size = len(block.text)
    low, high, best = 0, size, None
    while high - low > max(8, size // 64):  # at most seven steps
        middle = grapheme_floor(block.text, (low + high) // 2)
        text, tokens = written(block.text[:middle] + _SHORTENED_MARK.format(left=size - middle, all=size))
        if tokens <= available:
            low, best = max(middle, low + 1), ShownBlock(block=block, text=text, tokens=tokens, reason=reason, shortened=True)
        else:
            high = (low + high) // 2
    return best


# Activity: what agents did in the last 24 hours, in order, as a section of the system prompt.


_ACTIVITY_TEXT = Limit(maximum=4_000, unit="characters", of="the text of one activity", why="an entry is a line of the prompt")
_ACTIVITY_ENTRIES = Limit(
    maximum=10_000, unit="entries", of="the activity given to a builder", why="15 of the last day are shown"
)
_ACTIVITY_SPAN = timedelta(hours=24)
_MAX_SHOWN, _MAX_OWN = 15, 3
_MAX_LINE = 500
"""Graphemes of an entry."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Activity:
    """`agent` did `text` at `at` (naive times are in the scope's zone)."""

    at: datetime
    agent: str
    text: str


def read_activity(entries: object, zone: str) -> tuple[Activity, ...]:
    """Returns the entries with their times in UTC. Raises `InvalidInput` naming the entry that can't be used."""
    if isinstance(entries, str | bytes) or not isinstance(entries, Iterable):
        raise InvalidInput(f"must be a list of Activity, not {type(entries).__name__}", path="activity")
    given = tuple(islice(entries, _ACTIVITY_ENTRIES.maximum + 1))
    check_size("activity", len(given), _ACTIVITY_ENTRIES, at_least=True)
    found: list[Activity] = []
    for index, each in enumerate(given):
        if not isinstance(each, Activity) or not isinstance(each.at, datetime):
            raise InvalidInput(
                f"must be an Activity(at=…, agent=…, text=…), not {type(each).__name__}", path=f"activity[{index}]"
            )
        agent = check_text(f"activity[{index}].agent", each.agent, ID)
        said = check_text(f"activity[{index}].text", each.text, _ACTIVITY_TEXT)
        found.append(Activity(at=aware(each.at, zone, f"activity[{index}].at"), agent=agent, text=said))
    return tuple(found)


def recent_activity(entries: Sequence[Activity], own: str, now: datetime) -> tuple[Activity, ...]:
    """Returns the entries to show, the oldest first: of the 24 hours before `now` the newest 15, 3 of them of the agent `own`
    at most."""
    fresh = sorted((each for each in entries if now - _ACTIVITY_SPAN <= each.at <= now), key=lambda each: each.at, reverse=True)
    shown: list[Activity] = []
    mine = 0
    for each in fresh:
        if each.agent == own and (mine := mine + 1) > _MAX_OWN:
            continue
        shown.append(each)
        if len(shown) == _MAX_SHOWN:
            break
    return tuple(reversed(shown))


def write_activity(entries: Sequence[Activity], nonce: str, zone: tzinfo) -> str:
    """Returns the section; empty without entries. Each entry is one line, whatever its text holds."""
    if not entries:
        return ""
    lines = list[str]()
    for each in entries:
        head = f"- [{each.at.astimezone(zone):%Y-%m-%d %H:%M}]"
        line = f"{head} {_activity_line(each.agent, nonce, 64)}: {_activity_line(each.text, nonce, _MAX_LINE)}"
        lines.append(neutralise_line(head, line))
    return "\n".join(("# Recent Activity", "", *lines))


def _activity_line(said: str, nonce: str, limit: int) -> str:
    return escape_text(clip(clean(" ".join(said.split()), nonce).replace("\n", " "), limit))
