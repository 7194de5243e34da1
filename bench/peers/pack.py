"""Pack: the packer that all peers share: hits in rank order, one line each; a line that doesn't fit is skipped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

__all__ = ["packed"]


def packed(ranked: Sequence[str], costs: Mapping[str, int], budget: int) -> list[str]:
    """The ids that fit into `budget` tokens; `costs` are the tokens of each line with its line break."""
    chosen: dict[str, None] = {}
    left = budget
    for id in ranked:
        if id not in chosen and costs[id] <= left:
            chosen[id] = None
            left -= costs[id]
    return list(chosen)
