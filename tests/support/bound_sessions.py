"""Bound sessions: generated sessions of a model that binds thinking to its prefix, with a provider that checks it
(INJECT-10)."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from germane import Agent, Context, Germane
from germane.api.strategies import COMPACT, DEFAULT
from germane.engine import engine as stages
from germane.engine.injection_log import InjectionLog
from germane.kinds.injections import SessionInjections
from germane.kinds.inventory import AllowedIds
from germane.kinds.memories.directive import CurrentDirective
from germane.stores.sqlite.readers import SqliteReaders
from germane.stores.sqlite.scoped_store import SqliteScopedStore
from germane.stores.sqlite.writer import SqliteWriter
from germane.types.query import Filters
from germane.types.trace import InjectedItem

__all__ = ["FAULTS", "HARMLESS", "HARMS", "MODEL", "BindingProvider", "BoundSession", "Faults", "Step", "steps_of"]

MODEL = "claude-fable-5-1"
APPEND = replace(COMPACT, name="append", placement="append", floor=0.05)
"""Taken for odd caps; even ones have the default strategy."""
_ANY = Filters(sensitivities=("public", "private", "sensitive"))
_WORDS = ("greyhound Biscuit", "oolong tea", "cello on Fridays", "ok", "neighbour's cat", "grey sofa")
Step = tuple[str, str]
FAULTS = ("records", "late", "gate", "gate late", "directive", "scoring", "down", "called off")
"""What fails in the next call: a read of the records, the last gate, the directive, a stage, the whole store, all of it."""
HARMLESS: tuple[Step, ...] = (
    *(("say", word) for word in _WORDS),
    *(("work", word) for word in _WORDS),
    *(("remember", word) for word in _WORDS),
    *(("record", word) for word in _WORDS),
    *(("fault", kind) for kind in FAULTS),
    *((step, "") for step in ("retry", "change", "end", "edit", "flush", "restart", "elsewhere", "keep", "forget another's")),
)
"""Steps after which no text may have changed."""
HARMS: tuple[Step, ...] = (
    *((step, "") for step in ("forget", "restrict", "secret", "redirect", "lose", "elsewhere at once", "delete")),
)
"""Steps after which a text may have gone, or can't be known; then the answer must say so."""


def steps_of(random: Random, most: int = 14) -> list[Step]:
    """A random session: many words, and harm in half of the sessions."""
    choices = [*HARMLESS, *(HARMS if random.random() < 0.5 else ())]
    talk = [step for step in HARMLESS if step[0] in ("say", "work")]
    return [random.choice(talk if random.random() < 0.5 else choices) for _ in range(random.randint(3, most))]


class BindingProvider:
    """Checks each block of thinking against what stood before it when it was made, as the provider does."""

    def __init__(self) -> None:
        self._made: dict[str, str] = {}

    def mismatched(self, body: Mapping[str, Any]) -> list[str]:
        """The signatures of the thinking that would be refused."""
        return [signature for signature, before in _thinking(body) if self._made[signature] != before]

    def answer(self, body: Mapping[str, Any], block: Mapping[str, Any]) -> dict[str, Any]:
        """The model's next message: thinking, and this block."""
        signature = f"sig{len(self._made)}"
        self._made[signature] = _whole(body)
        return {"role": "assistant", "content": [{"type": "thinking", "thinking": "…", "signature": signature}, dict(block)]}


def _thinking(body: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for index, message in enumerate(body["messages"]):
        for block in message["content"] if isinstance(message["content"], list) else ():
            if block["type"] == "thinking":
                yield block["signature"], _whole({**body, "messages": body["messages"][:index]})


def _whole(body: Mapping[str, Any]) -> str:
    """All that the provider reads, without cache marks and without thinking, which it may have dropped."""
    return json.dumps([_plain(body.get("system")), *([one["role"], _plain(one["content"])] for one in body["messages"])])


def _plain(content: Any) -> list[Any]:
    blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content or []
    return [
        {key: each for key, each in block.items() if key != "cache_control"} for block in blocks if block["type"] != "thinking"
    ]


@dataclass
class Faults:
    """What fails now; `installed` makes it so."""

    now: set[str] = field(default_factory=set)

    @contextmanager
    def installed(self) -> Iterator[Faults]:
        patched = list[tuple[Any, str, Any]]()

        def patch(
            owner: Any, name: str, kinds: Mapping[str, type[BaseException]], *, plain: bool = False, of: type = object
        ) -> None:
            original = getattr(owner, name)
            patched.append((owner, name, original))

            def check() -> None:
                for kind, error in kinds.items():
                    if kind in self.now:
                        raise error

            async def call(*args: Any, **named: Any) -> Any:
                if isinstance(args[-1], of):
                    check()
                return await original(*args, **named)

            def call_plainly(*args: Any, **named: Any) -> Any:
                check()
                return original(*args, **named)

            setattr(owner, name, call_plainly if plain else call)

        late, failed = asyncio.CancelledError, OSError
        patch(SqliteScopedStore, "ask", {"records": failed, "late": late}, of=SessionInjections)
        patch(SqliteScopedStore, "ask", {"gate": failed, "gate late": late}, of=AllowedIds)
        patch(SqliteScopedStore, "ask", {"directive": failed}, of=CurrentDirective)
        for name in ("run", "search", "read_batched"):
            patch(SqliteReaders, name, {"down": failed})
        patch(SqliteWriter, "run", {"down": failed})
        patch(stages, "rank_candidates", {"scoring": ValueError}, plain=True)
        try:
            yield self
        finally:
            for owner, name, original in reversed(patched):
                setattr(owner, name, original)


class BoundSession:
    """Plays steps. `opened` are two processes with the same store; `again` opens a third in the place of the first. Where it is
    `careful`, nothing fails in the first call of a session that a process sees."""

    def __init__(
        self, opened: list[Germane], faults: Faults, user: str, cap: int, again: Any = None, *, careful: bool = False
    ) -> None:
        self.careful, self._fresh = careful, False
        self.opened, self.faults, self.user, self.again = opened, faults, user, again
        self.strategy = replace(APPEND if cap % 2 else DEFAULT, cap=cap)
        self.provider, self.history = BindingProvider(), list[Any]()
        self.system: Any = None
        self.kept, self.filters = False, _ANY
        self.calls = self.flagged = self.spurious = 0
        self.broken = list[tuple[int, Context]]()
        """The calls that the provider would have refused, though nothing said so."""
        self.last: Any = None
        """The last call's context."""
        self.model = MODEL
        self._numbers = iter(range(10**9))

    @property
    def agent(self) -> Agent:
        return self.opened[0].agent("a", user=self.user)

    async def begin(self) -> None:
        self.faults.now.clear()
        await self.agent.directive("Answer in one sentence.")
        for fact in ("Caroline's greyhound is called Biscuit", "Caroline adores oolong tea"):
            await self.agent.remember(fact, sensitivity="private")
        await self.agent.remember("Caroline plays the cello on Fridays", sensitivity="sensitive")
        await self.agent.blocks.create("human", text="She lives in Bern.", pinned=True)

    async def play(self, steps: Sequence[Step]) -> None:
        for step in steps:
            failing = set(self.faults.now)
            if step[0] not in ("say", "work", "retry", "call", "fault"):
                self.faults.now.clear()
            await self._step(*step)
            self._fresh |= step[0] in ("elsewhere", "elsewhere at once", "restart")
            if step[0] not in ("say", "work", "retry", "call", "fault"):
                self.faults.now |= failing

    async def _step(self, step: str, word: str) -> None:
        number, agent = next(self._numbers), self.agent
        match step:
            case "say":
                self._user(f"Tell me about {word}? {number % 3 or ''}")
                await self.call({"type": "text", "text": "Well."})
            case "work":
                self._user(f"Look up {word}.")
                await self.call({"type": "tool_use", "id": f"t{number}", "name": "run", "input": {}})
                self.history.append(
                    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"t{number}", "content": "done"}]}
                )
                await self.call({"type": "text", "text": "Well."})
            case "retry" if self.history and isinstance(self.history[-2]["content"], str):
                self.history.pop()
                await self.call({"type": "text", "text": "Well!"})
            case "fault":
                self.faults.now.add(word)
            case "remember":
                await agent.remember(f"Fact {number} about {word}")
            case "record":
                words = [{"role": "user", "content": f"I had {word} on day {number}, and my sister Vera too."}]
                await agent.record(words, session=f"old {number % 2}")
            case "change":
                if memory := await self._memory():
                    await agent.memories.update(memory, f"Changed {number}, no greyhound any more")
            case "end":
                if memory := await self._memory():
                    await agent.memories.update(memory, valid_from="2019-01-01T00:00:00Z", expires_at="2020-01-01T00:00:00Z")
            case "secret":
                if memory := await self._memory():
                    await agent.memories.update(memory, sensitivity="sensitive")
                self.filters = Filters()
            case "edit":
                await agent.blocks.append("human", f" She said {number}.")
            case "delete":
                if memory := await self._memory():
                    await agent.forget([memory])
                for block in await agent.blocks.list():
                    await agent.blocks.delete(block.label, system=True)
                await agent.blocks.create("human", text="She lives in Basel.", pinned=True)
            case "forget":
                await agent.forget([one.id for one in await agent.search(word or "greyhound", 1)])
            case "forget another's":
                other = self.opened[0].agent("a", user=f"{self.user} other")
                await other.forget([(await other.remember("Tea?")).id])
            case "restrict":
                self.filters = Filters() if self.filters == _ANY else _ANY
            case "redirect":
                await agent.directive(f"Answer in {number} sentences.")
            case "flush" | "elsewhere":
                await self._flush()
                if step == "elsewhere":
                    self.opened.reverse()
            case "elsewhere at once":
                self.opened.reverse()
            case "restart" if self.again is not None:
                await self.opened[0].__aexit__(None, None, None)
                self.opened[0] = await self.again()
            case "lose":
                object.__setattr__(self.opened[0]._open.injections._log, "_waiting", InjectionLog()._waiting)
            case "call":
                await self.call({"type": "text", "text": "Well."})
            case "keep":
                self.kept = True

    async def _memory(self) -> str | None:
        """A memory that stands in the prompt, else any."""
        standing: list[InjectedItem] = []
        if self.last is not None:
            standing = [item for text in self.last.earlier for item in text.items]
        ids = {each.id for each in (await self.agent.memories.list(_ANY, limit=200)).memories}
        if found := next((item.id for item in standing if item.id in ids), None):
            return found
        page = await self.agent.memories.list(_ANY)
        return page.memories[0].id if page.memories else None

    async def _flush(self) -> None:
        for one in self.opened:
            await one._open.injections.flush()

    def _user(self, text: str) -> None:
        self.history.append({"role": "user", "content": text})

    async def call(self, block: Mapping[str, Any]) -> None:
        given: dict[str, Any] = {"model": self.model, "session": "s", "strategy": self.strategy, "system": self.system}
        if self.careful and self._fresh:
            self.faults.now.clear()
        self._fresh = False
        try:
            if "called off" in self.faults.now:
                context = await self.agent.fallback(self.history, filters=self.filters, **given)
            else:
                context = await self.agent.assemble(self.history, deadline=None, filters=self.filters, **given)
        finally:
            self.faults.now.clear()
        self.last, body = context, context.to_anthropic()
        self.calls += 1
        wrong, said = self.provider.mismatched(body), context.metadata.thinking_prefix_changed
        self.flagged += said
        self.spurious += said and not wrong
        if wrong and not said:
            self.broken.append((self.calls, context))
        answer = self.provider.answer(body, block)
        if self.kept:
            self.history, self.system = [*body["messages"]], body.get("system")
        self.history.append(answer)
