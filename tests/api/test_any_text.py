"""Any text: whatever characters a text is made of, each verb takes it or says why not, and an assembly finds all it should."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any
from uuid import uuid4

import pytest
import pytest_asyncio

from germane import Agent, Germane
from germane.errors import InvalidInput
from germane.models.embedders.distilled import Distilled
from support.calendar import Calendar
from support.mixed_texts import mixed_texts, nearly


async def task(agent: Agent, text: str, other: str) -> None:
    await agent.tasks.push(text, session="s1")
    await agent.tasks.pop(other, session="s1")


async def block_of(agent: Agent, text: str, other: str) -> None:
    block = await agent.blocks.create(f"notes/{uuid4().hex}", text=text)
    await agent.blocks.append(block.label, other)


async def compacted(agent: Agent, text: str, other: str) -> None:
    talk = [{"role": ("user", "assistant")[at % 2], "content": f"{text} {other}"} for at in range(9)]
    await agent.conversations.compact(talk, session="s1", model="gpt-4o", max_tokens=99)


VERBS: dict[str, Callable[[Agent, str, str], Awaitable[Any]]] = {
    "record": lambda agent, text, other: agent.record(
        [{"role": "user", "name": other[:9], "content": text}, {"role": "assistant", "content": other}], session="s1"
    ),
    "session": lambda agent, text, other: agent.record([{"role": "user", "content": text}], session=other),
    "note": lambda agent, text, other: agent.remember(text, tags=[other[:20]]),
    "episode": lambda agent, text, other: agent.remember(text, kind="episode"),
    "fact": lambda agent, text, other: agent.remember(kind="fact", key=text[:40], value=other),
    "procedure": lambda agent, text, other: agent.remember(text, kind="procedure", title=other),
    "entity": lambda agent, text, other: agent.graph.add("person", text[:60], aliases=[other[:60]]),
    "found": lambda agent, text, other: agent.graph.find(text),
    "event": lambda agent, text, other: agent.events.record("shell_exec", text, session="s1", outcome=other[:20]),
    "document": lambda agent, text, other: agent.documents.ingest(text=f"# {text}\n\n{other}", source=f"/g/{text[:20]}.md"),
    "task": task,
    "block": block_of,
    "archived": lambda agent, text, other: agent.blocks.archive(text),
    "archive": lambda agent, text, other: agent.blocks.search_archive(text),
    "pattern": lambda agent, text, other: agent.graph.patterns.learn(text, keywords=[other[:20]]),
    "matched": lambda agent, text, other: agent.graph.patterns.match(text),
    "compressed": lambda agent, text, other: agent.compress(f"{text} {other}" * 9, max_tokens=30),
    "about": lambda agent, text, other: agent.about(text),
    "recalled": lambda agent, text, other: agent.search(text),
    "digest": lambda agent, text, other: agent.digest(text, deadline=None),
    "compacted": compacted,
}
TEXTS = mixed_texts(13)
ACCEPTED = 15
"""Of 24 texts at least so many are taken by each verb; the others have characters that names and JSON can't hold."""


@pytest.mark.parametrize("verb", sorted(VERBS))
async def test_a_verb_takes_any_text_or_says_why_not(germane: Germane, verb: str) -> None:
    """Twice, the second time nearly the same."""
    agent, taken = germane.agent("a", user="u"), 0
    texts = mixed_texts(25)
    for at, text in enumerate(texts[:-1]):
        for one in (text, nearly(text, at)):
            with suppress(InvalidInput):
                await VERBS[verb](agent, one, texts[at + 1])
                taken += 1
    assert taken >= ACCEPTED, taken


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def filled(embedder: Distilled, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Germane]:
    """A store in which every verb has put each text."""
    path = tmp_path_factory.mktemp("filled") / "germane.db"
    async with Germane.open(path, embedder=embedder, clock=Calendar().clock) as germane:
        agent = germane.agent("a", user="u")
        for at, text in enumerate(TEXTS[:-1]):
            for verb in VERBS.values():
                with suppress(InvalidInput):
                    await verb(agent, text, nearly(TEXTS[at + 1], at))
        yield germane


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("strategy", ["default", "coding", "support", "research", "digest", "compact", "composite"])
async def test_no_source_fails_over_any_text(filled: Germane, strategy: str) -> None:
    """Everything is stored in one place, and each text is asked for."""
    agent = filled.agent("a", user="u")
    for text in TEXTS:
        context = await agent.assemble(
            [{"role": "user", "content": text}], model="gpt-4o", session="s1", strategy=strategy, deadline=None
        )
        assert context.metadata.fallback_reason == ""
        assert [report for report in context.metadata.sources if report.status not in ("ok", "skipped")] == []
    assert [what for what, _, fine in (await filled.verify()).findings if not fine] == []
