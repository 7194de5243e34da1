"""`germane stats`: counts what is stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from germane.cli.codec import encode
from germane.cli.elsewhere import counted, elsewhere, print_hints
from germane.cli.global_options import GlobalOptions, options_of, run_async
from germane.cli.listing import print_fields
from germane.cli.screen import console, plain, print_json

if TYPE_CHECKING:
    from germane.types.inventory import Stats, UserSummary

__all__ = ["stats"]

_LISTED, _SHOWN = 1000, 10
"""Users that are counted, and those that are named."""


def stats(context: typer.Context) -> None:
    """Count what the agent has stored: what all users share and, with --user, that user's own; without it, each user's own in
    short."""
    options = options_of(context)
    found, users, hints = run_async(_stats(options))
    if options.json:
        print_json(encode(found) | ({"by_user": [encode(one) for one in users]} if options.user is None else {}))
        return
    screen, kinds = console(), found.memories
    fields = [
        ("memories", f"{sum(kinds.values()):,}"),
        *((f"  {kind}", f"{count:,}") for kind, count in sorted(kinds.items())),
        ("  by rules", f"{rules:,} of them" if (rules := found.extracted.get("rules")) else ""),
        ("  by a model", f"{llm:,} of them" if (llm := found.extracted.get("llm")) else ""),
        ("  pinned", f"{found.pinned:,}" if found.pinned else ""),
        ("  ended", f"{found.ended:,}" if found.ended else ""),
        ("messages", f"{found.messages:,}"),
        ("events", f"{found.events:,}" if found.events else ""),
        ("sessions", f"{found.sessions:,}"),
        ("documents", f"{found.documents:,}" if found.documents else ""),
        ("  passages", f"{found.passages:,}" if found.passages else ""),
        ("entities", f"{found.entities:,}" if found.entities else ""),
        ("  relations", f"{found.relations:,}" if found.relations else ""),
        ("patterns", f"{found.patterns:,}" if found.patterns else ""),
        ("tasks", f"{found.tasks:,}" if found.tasks else ""),
        ("archived", f"{found.archived:,}" if found.archived else ""),
        ("summaries", f"{found.summaries:,}" if found.summaries else ""),
        ("blocks", f"{found.blocks:,}" if found.blocks else ""),
        ("users", "" if found.users is None else f"{found.users:,}"),
        ("text", _size(found.text_bytes)),
        ("without vector", f"{found.pending_vectors:,}" if found.pending_vectors else ""),
        ("oldest", "" if found.oldest is None else f"{found.oldest:%Y-%m-%d %H:%M}"),
        ("newest", "" if found.newest is None else f"{found.newest:%Y-%m-%d %H:%M}"),
    ]
    print_fields(screen, fields)
    if users:
        own = counted(sum(one.memories for one in users), sum(one.messages for one in users))
        screen.print(f"besides, {'its user has' if len(users) == 1 else f'its {len(users):,} users have'} {own}:")
        for one in sorted(users, key=lambda one: -(one.memories + one.messages))[:_SHOWN]:
            screen.print(f"  {plain(one.user, 60)}: {counted(one.memories, one.messages)}")
        rest = f" (and {len(users) - _SHOWN:,} more: germane users)" if len(users) > _SHOWN else ""
        screen.print(f"--user NAME counts what one of them sees{rest}")
    print_hints(screen, hints)


def _size(count: int) -> str:
    size, unit = float(count), "B"
    for larger in ("KB", "MB", "GB"):
        if size < 1000:
            break
        size, unit = size / 1000, larger
    return f"{size:,.0f} {unit}" if unit == "B" else f"{size:,.1f} {unit}"


async def _stats(options: GlobalOptions) -> tuple[Stats, tuple[UserSummary, ...], list[str]]:
    async with options.open_store() as (germane, agent):
        found = await agent.stats()
        users = () if options.user else (await agent.users(limit=_LISTED)).users
        kept = (found.memories, found.ended, found.messages, found.events, found.documents, found.entities, found.tasks)
        nothing = not any((*kept, found.patterns, found.blocks, found.archival_entries, found.archived))
        return found, users, await elsewhere(germane, options) if nothing and not users else []
