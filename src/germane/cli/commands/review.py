"""`germane review`: lists the conflicts between memories, and resolves them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from germane.cli.global_options import GlobalOptions, options_of, run_async
from germane.cli.screen import console, print_json
from germane.errors import InvalidInput

if TYPE_CHECKING:
    from germane.memories.link import Contradiction

__all__ = ["review"]

_REASONS = {
    "same_time": "two values stated at the same time",
    "pinned": "a pinned fact was superseded",
    "number": "nearly the same, but for a number",
    "date": "nearly the same, but for a date",
    "negation": "nearly the same, but for a negation",
    "order": "the same words in another order",
    "ended": "the newer one may say that the older one has ended",
}


def review(
    context: typer.Context,
    resolve: Annotated[str | None, typer.Option(metavar="ID", help="Close this conflict.")] = None,
    keep: Annotated[str | None, typer.Option(metavar="ID|both", help="With --resolve: the memory to keep, or both.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="At most so many conflicts.")] = 50,
) -> None:
    """List memories that contradict each other, for a person to decide. With --resolve and --keep, close one conflict: the
    memory that isn't kept ends, and stays in the history."""
    options = options_of(context)
    if (resolve is None) != (keep is None):
        raise InvalidInput("--resolve and --keep belong together: name the conflict, and the memory to keep (or both)")
    found = run_async(_review(options, resolve, keep or "", limit))
    if options.json:
        print_json({"conflicts": [_shape(conflict) for conflict in found]})
    elif resolve is not None:
        console().print(f"resolved: kept {found[0].kept}")
    elif not found:
        console().print("nothing to review: no memories contradict each other")
    else:
        from rich.padding import Padding

        for conflict in found:
            console().print(f"{conflict.id}  {_REASONS.get(conflict.reason, conflict.reason)}")
            for memory in (conflict.older, conflict.newer):
                ended = "" if memory.superseded_by is None else " (superseded)"
                console().print(f"  {memory.id}{ended}", soft_wrap=True)
                console().print(Padding(memory.text, (0, 0, 0, 4)))
        console().print("decide with: germane review --resolve CONFLICT --keep MEMORY (or both)")


async def _review(options: GlobalOptions, id: str | None, keep: str, limit: int) -> tuple[Contradiction, ...]:
    async with options.open_store() as (_, agent):
        if id is not None:
            return (await agent.memories.resolve(id, keep=keep),)
        return await agent.memories.review(limit=limit)


def _shape(conflict: Contradiction) -> dict[str, Any]:
    from germane.cli.json_shapes import memory_shape

    return {
        "id": conflict.id,
        "reason": conflict.reason,
        "older": memory_shape(conflict.older),
        "newer": memory_shape(conflict.newer),
        "created_at": conflict.created_at.isoformat(),
        "kept": conflict.kept,
    }
