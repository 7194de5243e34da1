"""Proxied turns: model calls and their answers as the proxy hands them over, and a service that finds and records them."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from germane import Agent, Clock, Germane
from germane.dialects.answer_copy import AnswerCopy
from germane.dialects.model_calls import ModelCall
from germane.service.proxy.recorder import Recorder, Turn
from germane.service.proxy.sessions import Sessions
from germane.service.proxy.spool import Spool

__all__ = [
    "ANSWERED",
    "ProxiedTurns",
    "answer_copy",
    "assistant",
    "chat_answer",
    "failing",
    "human",
    "made_call",
    "proxied",
    "responses_answer",
    "spool_of",
    "texts",
    "write_turns",
]

Fields = dict[str, Any]
ANSWERED = timedelta(milliseconds=1)
"""Between a question and its answer."""


def made_call(
    api: str, messages: Sequence[Mapping[str, Any]], body: Mapping[str, Any] | None = None, held: bool = False
) -> ModelCall:
    return ModelCall(api=api, body=body or {}, messages=messages, held=held)


def answer_copy(text: str, *, is_stream: bool = False) -> AnswerCopy:
    copy = AnswerCopy({"content-type": "text/event-stream" if is_stream else "application/json"})
    copy.keep(text.encode())
    return copy


def human(text: str) -> Fields:
    return {"role": "user", "content": text}


def assistant(text: str) -> Fields:
    return {"role": "assistant", "content": text}


def chat_answer(message: str | Fields) -> AnswerCopy:
    said = assistant(message) if isinstance(message, str) else message
    return answer_copy(json.dumps({"id": "chatcmpl-1", "choices": [{"index": 0, "message": said}]}))


def responses_answer(id: str, text: str) -> AnswerCopy:
    item = {"type": "message", "id": f"msg_{id}", "role": "assistant", "content": [{"type": "output_text", "text": text}]}
    return answer_copy(json.dumps({"id": id, "status": "completed", "output": [item]}))


class ProxiedTurns:
    """One worker: its sessions, its recorder, and the clock of both."""

    def __init__(self, germane: Germane, clock: Clock, folder: Path | None, **options: Any) -> None:
        self.germane, self.clock = germane, clock
        self.sessions = Sessions(germane, clock)
        self.recorder = Recorder(germane, self.sessions, folder, clock, **options)

    async def find(self, agent: Agent, call: ModelCall, **options: Any) -> str:
        return await self.sessions.find(agent, call, **{"deadline": 5.0} | options)

    def turn(self, agent: Agent, session: str, call: ModelCall, answer: Any) -> Turn:
        now = self.clock.now()
        return Turn.of(agent.scope, session, call, answer, asked_at=now, answered_at=now + ANSWERED)

    async def ask(self, agent: Agent, messages: Sequence[Fields], answer: str | Fields, **options: Any) -> str:
        """One call of the chat API, answered and recorded. Returns its session."""
        call = made_call("openai", [*messages])
        session = await self.find(agent, call, **options)
        self.recorder.offer(self.turn(agent, session, call, chat_answer(answer)))
        assert await self.recorder.flush(20)
        return session

    async def talk(self, agent: Agent, history: list[Fields], text: str, answer: str, **options: Any) -> str:
        """As `ask` with the next human turn; `history` grows by it and by the answer."""
        history.append(human(text))
        session = await self.ask(agent, history, answer, **options)
        history.append(assistant(answer))
        return session


@asynccontextmanager
async def proxied(germane: Germane, clock: Clock, folder: Path | None = None, **options: Any) -> AsyncIterator[ProxiedTurns]:
    made = ProxiedTurns(germane, clock, folder, **options)
    made.recorder.open()
    try:
        yield made
    finally:
        await made.recorder.close(5)


@contextmanager
def failing(monkeypatch: pytest.MonkeyPatch, error: Exception) -> Iterator[list[str]]:
    """`Agent.record` raises; the list gets the sessions that were tried."""
    tried = list[str]()

    async def fails(self: Agent, messages: Any, *, session: str, **_: Any) -> None:
        tried.append(session)
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(Agent, "record", fails)
        yield tried


async def texts(agent: Agent, session: str | None = None) -> list[str]:
    """What is stored of a session, in its order."""
    page = await agent.messages(session, limit=1000)
    return [message.text for message in sorted(page.messages, key=lambda one: one.position)]


async def write_turns(db: Path, turns: int, *, failing: bool) -> None:
    """For a process that is killed: offers turns of three sessions, and prints the number of each that is in the spool. With
    `failing` the store takes nothing."""
    async with Germane.open(db, warm=False) as germane:
        clock = Clock()
        spool = Spool(spool_of(db))
        recorder = Recorder(germane, Sessions(germane, clock), None, clock, spool=spool)
        put = spool.put

        def told(content: bytes) -> Any:
            entry = put(content)
            sys.stdout.write("put\n")
            sys.stdout.flush()
            return entry

        spool.put = told  # type: ignore[method-assign]
        if failing:
            await germane._open.store.close()
        recorder.open()
        agent = germane.agent("support", org="acme", user="caroline")
        histories: list[list[Fields]] = [[], [], []]
        for number in range(turns):
            history = histories[number % 3]
            history.append(human(f"question {number}"))
            call = made_call("openai", [*history])
            now = clock.now()
            answer = chat_answer(f"answer {number}")
            recorder.offer(Turn.of(agent.scope, f"s{number % 3}", call, answer, asked_at=now, answered_at=now))
            history.append(assistant(f"answer {number}"))
        await recorder.flush(60)
        sys.stdout.write("done\n")
        sys.stdout.flush()
        sys.stdin.readline()


def spool_of(db: Path) -> Path:
    return db.with_name(f"{db.name}-spool")
