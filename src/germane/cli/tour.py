"""Tour: what the demo does and prints: a conversation is taken in, questions about it are asked, each answer is explained."""

from __future__ import annotations

from datetime import datetime, timedelta

from rich.console import Console
from rich.rule import Rule
from rich.text import Text

from germane.cli.enriched import enriched
from germane.cli.explanation import explanation
from germane.cli.global_options import GlobalOptions
from germane.cli.imports import Row, Turn
from germane.cli.imports.locomo import Asked
from germane.cli.intake import Tally, take
from germane.cli.screen import console, plain, progress
from germane.cli.trace_file import saved
from germane.clock import aware
from germane.errors import InvalidInput
from germane.types.context import Context

__all__ = ["tour"]


async def tour(
    chosen: GlobalOptions, rows: list[Row], asked: list[Asked], model: str, max_tokens: int, strategy: str
) -> list[tuple[str, Context]]:
    where, done = console(), []
    async with chosen.opened(create=True) as (germane, agent):
        tally = Tally()
        with progress(chosen.json) as shown:
            await take((agent, chosen.wide(germane)), rows, tally, shown, shown.add_task("importing", total=len(rows)))
        if not (tally.messages or tally.skipped):
            raise InvalidInput("no message in it could be used")
        at = _after(rows, chosen.zone)
        if not chosen.json:
            _imported(where, rows, tally)
        for question in asked:
            messages = [{"role": "user", "content": question.question}]
            found = await agent.assemble(messages, model=model, at=at, deadline=None, max_tokens=max_tokens, strategy=strategy)
            done.append((question.question, found))
            if not chosen.json:
                _shown(where, question, found)
    return done


def _imported(where: Console, rows: list[Row], tally: Tally) -> None:
    turns = [row for row in rows if isinstance(row, Turn)]
    sessions = len({row.session for row in turns})
    memories = f", {tally.memories} memories" if tally.memories else ""
    directive = " and a directive" if tally.directives else ""
    where.print(f"Imported {tally.messages + tally.skipped} messages of {sessions} sessions{memories}{directive}.")
    if tally.broken:
        where.print(Text(f"{len(tally.broken)} rows can't be used, the first: {plain(tally.broken[0], 160)}", style="yellow"))


def _shown(where: Console, asked: Asked, found: Context) -> None:
    where.print()
    where.print(Rule(Text(plain(f"Question: {asked.question}", 90), style="bold cyan"), characters="═", style="cyan"))
    enriched(found, where)
    where.print(Rule(Text("Why", style="bold"), align="left", style="dim"))
    explanation(saved(found), where, leaving_out=6)
    if asked.evidence:
        inside = {item.provenance.message_id for item in found.items}
        marks = ", ".join(f"{id} {'in' if id in inside else 'not in'}" for id in asked.evidence)
        where.print(Text(f"labelled answer: {plain(asked.answer, 120)} · its evidence: {marks}", style="bold"))


def _after(rows: list[Row], zone: str) -> datetime | None:
    """An hour after the last message, so that an old conversation isn't judged by today's calendar."""
    times = [aware(row.message.created_at, zone) for row in rows if isinstance(row, Turn) and row.message.created_at]
    return max(times) + timedelta(hours=1) if times else None
