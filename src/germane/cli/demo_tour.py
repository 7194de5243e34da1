"""Demo tour: imports a conversation, assembles the context of each question, and prints the result with its explanation."""

from __future__ import annotations

from datetime import datetime, timedelta

from rich.console import Console
from rich.rule import Rule
from rich.text import Text

from germane.cli.enriched_messages import print_messages
from germane.cli.explanation_table import print_explanation
from germane.cli.global_options import GlobalOptions
from germane.cli.imports import MessageRow, Row
from germane.cli.imports.locomo import DemoQuestion
from germane.cli.imports.store_rows import ImportTally, store_rows
from germane.cli.screen import console, plain, progress
from germane.cli.trace_file import SavedTrace
from germane.clock import aware
from germane.errors import InvalidInput
from germane.types.context import Context

__all__ = ["tour"]


async def tour(
    options: GlobalOptions, rows: list[Row], questions: list[DemoQuestion], model: str, max_tokens: int | None, strategy: str
) -> list[tuple[str, Context]]:
    """Returns each question with its context; prints them unless --json is given. Raises `InvalidInput` without a message."""
    screen, answers = console(), []
    async with options.open_store(create=True, warm=True) as (germane, agent):
        tally = ImportTally()
        with progress(options.json) as bar:
            task = bar.add_task("importing", total=len(rows))
            shared = options.agent_wide(germane)
            await store_rows(rows, agent, shared, lambda _: agent, tally, lambda count: bar.advance(task, count))
        if not (tally.messages or tally.known_messages):
            raise InvalidInput("no message in it could be used")
        at = _hour_after(rows, options.zone)
        if not options.json:
            _print_import(screen, rows, tally)
        for question in questions:
            messages = [{"role": "user", "content": question.question}]
            context = await agent.assemble(
                messages, model=model, at=at, deadline=None, max_tokens=max_tokens, strategy=strategy
            )
            answers.append((question.question, context))
            if not options.json:
                _print_answer(screen, question, context)
    return answers


def _print_import(screen: Console, rows: list[Row], tally: ImportTally) -> None:
    sessions = len({row.session for row in rows if isinstance(row, MessageRow)})
    memories = f", {tally.memories} memories" if tally.memories else ""
    directive = " and a directive" if tally.directives else ""
    screen.print(f"Imported {tally.messages + tally.known_messages} messages of {sessions} sessions{memories}{directive}.")
    if tally.broken:
        screen.print(Text(f"{len(tally.broken)} rows can't be used, the first: {plain(tally.broken[0], 160)}", style="yellow"))


def _print_answer(screen: Console, question: DemoQuestion, context: Context) -> None:
    screen.print()
    title = Text(plain(f"Question: {question.question}", 90), style="bold cyan")
    screen.print(Rule(title, characters="═", style="cyan"))
    print_messages(context, screen)
    screen.print(Rule(Text("Why", style="bold"), align="left", style="dim"))
    print_explanation(SavedTrace.of(context), screen, max_left_out=6)
    if question.evidence:
        inside = {item.provenance.message_id for item in context.items}
        marks = ", ".join(f"{id} {'in' if id in inside else 'not in'}" for id in question.evidence)
        screen.print(Text(f"labelled answer: {plain(question.answer, 120)} · its evidence: {marks}", style="bold"))


def _hour_after(rows: list[Row], zone: str) -> datetime | None:
    """An hour after the last message: relative to today, an old conversation would lose all its recency."""
    times = [aware(row.message.created_at, zone) for row in rows if isinstance(row, MessageRow) and row.message.created_at]
    return max(times) + timedelta(hours=1) if times else None
