"""Demo tour: imports a conversation, asks a few requests, each in a conversation of its own, and prints what each was given."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, NamedTuple
from uuid import uuid4

from rich.console import Console
from rich.text import Text

from germane.cli.demo_conversation import DemoConversation
from germane.cli.demo_screen import print_answer, print_legend
from germane.cli.elsewhere import counted, largest_holding
from germane.cli.global_options import GlobalOptions
from germane.cli.imports.export_file import ExportFile
from germane.cli.imports.store_rows import ImportTally, store_rows
from germane.cli.screen import console, plain, progress
from germane.errors import InvalidInput
from germane.evaluate.made_requests import MadeRequest, requests_of
from germane.types.context import Context

if TYPE_CHECKING:
    from germane.api.agent import Agent
    from germane.api.germane import Germane

__all__ = ["DemoSettings", "tour"]


class DemoSettings(NamedTuple):
    """How the contexts are assembled. `asked` are the caller's own requests; without any, the conversation's or made ones."""

    model: str = "gpt-4o"
    max_tokens: int | None = None
    strategy: str = "default"
    asked: tuple[MadeRequest, ...] = ()


async def tour(
    options: GlobalOptions, conversation: DemoConversation, settings: DemoSettings
) -> tuple[GlobalOptions, list[tuple[MadeRequest, Context]]]:
    """Returns the options of the scope that was asked, and each request with its context; prints them unless --json is given.
    Raises `InvalidInput` where nothing could be imported."""
    screen, answers = console(), list[tuple[MadeRequest, Context]]()
    async with options.open_store(create=True, warm=True) as (germane, agent):
        broken = await _import(germane, agent, options, conversation)
        held = await largest_holding(germane) if not (stored := await agent.stats()).messages and not stored.memories else None
        if held is not None:
            options = replace(options, org=held.org, agent=held.agent, user=held.user)
            agent = germane.agent(held.agent, org=held.org, user=held.user, zone=options.zone)
        if not ((stored := await agent.stats()).messages or stored.memories):
            raise InvalidInput(f"nothing in it could be used{f': {broken[0]}' if broken else ''}")
        if not options.json:
            kept = counted(sum(stored.memories.values()), stored.messages)
            talks = f" in {stored.sessions} {'conversation' if stored.sessions == 1 else 'conversations'}"
            _print_import(screen, f"Imported: {kept}{talks if stored.sessions else ''}.", broken)
            print_legend(screen)
        at = await _hour_after_last(agent)
        for number, request in enumerate(settings.asked or conversation.requests or await requests_of(agent), start=1):
            context = await agent.assemble(
                [{"role": "user", "content": request.text}],
                model=settings.model,
                session=f"demo {uuid4()}",  # one of its own: an earlier demo's text stands in no prompt of this one
                at=request.at or at,
                deadline=None,
                max_tokens=settings.max_tokens,
                strategy=settings.strategy,
            )
            answers.append((request, context))
            if not options.json:
                print_answer(screen, number, request, context)
    return options, answers


async def _import(germane: Germane, agent: Agent, options: GlobalOptions, conversation: DemoConversation) -> list[str]:
    """Stores the conversation; returns why some of it can't be used."""
    loaded = conversation.loaded
    with progress(options.json) as bar:
        total = loaded.total if isinstance(loaded, ExportFile) else len(loaded[1])
        task = bar.add_task("importing", total=total)
        if isinstance(loaded, ExportFile):
            advance = partial(bar.advance, task)
            restored = await loaded.restore(germane, None, skip_conflicts=True, advance=advance)
            return [f"line {number}: something else is stored in its place" for number in restored.conflicts]
        tally = ImportTally()
        shared = options.agent_wide(germane)
        await store_rows(loaded[1], agent, shared, lambda _: agent, tally, partial(bar.advance, task))
        return tally.broken


def _print_import(screen: Console, line: str, broken: list[str]) -> None:
    screen.print(line)
    if broken:
        screen.print(Text(f"{len(broken)} rows can't be used, the first: {plain(broken[0], 160)}", style="yellow"))


async def _hour_after_last(agent: Agent) -> datetime | None:
    """An hour after the last message: relative to today, an old conversation would lose all its recency."""
    last = (await agent.messages(limit=1, whole=False)).messages
    return last[0].created_at + timedelta(hours=1) if last else None
