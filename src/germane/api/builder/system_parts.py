"""System parts: the blocks of a built system prompt, in their order, that fit into the tokens for memory (BUILD-2).

The order of the prompt is: base instructions, directive, core blocks, working blocks, activity, tool rules. Of the blocks the
agent's own come first, then those shared with it, each by label. Where the tokens for memory don't suffice, what stands first
goes in first; a block of the core that doesn't fit is shortened.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from germane.pipeline.format.blocks import write_block
from germane.pipeline.format.graphemes import floor
from germane.types.block_text import BlockText

__all__ = ["BlockPacking", "PromptBlocks", "ShownBlock", "UnshownBlock", "pack_blocks"]

_MARK = "\n[… {left:,} of {all:,} characters left out]"
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
        middle = floor(block.text, (low + high) // 2)
        text, tokens = written(block.text[:middle] + _MARK.format(left=size - middle, all=size))
        if tokens <= available:
            low, best = max(middle, low + 1), ShownBlock(block=block, text=text, tokens=tokens, reason=reason, shortened=True)
        else:
            high = (low + high) // 2
    return best
