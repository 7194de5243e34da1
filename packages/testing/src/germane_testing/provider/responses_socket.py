"""Responses socket: the WebSocket of the Responses API, with `response.create`, lanes, and `response.steer`.

Events of a `response.create` with a `stream_id` come in order in their lane; lanes run side by side. A response that is steered
ends behind the item that it is writing, as `response.incomplete`, and the queued input starts its successor; where it waits for
the client's tool results, the input waits with it. A response that isn't stored can be continued on its own connection.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, cast

from aiohttp import WSMsgType, web

from germane_testing.provider.answering import Answer, Ids
from germane_testing.provider.delivery import disturbed, json_bytes
from germane_testing.provider.fields import Body, fields_of, listed, mapping
from germane_testing.provider.received import Asked, Received, Refused
from germane_testing.provider.replies import Chosen, Failure, NoAnswer, Reply, Verbatim
from germane_testing.provider.responses import Responses
from germane_testing.provider.stored_responses import StoredResponse, StoredResponses, input_items

__all__ = ["ResponsesSocket"]

_RESULTS = {"function_call": "function_call_output", "custom_tool_call": "custom_tool_call_output"}


@dataclass(slots=True)
class _Running:
    """A response on its way: its request, how many events were sent, and the input that was queued to steer it."""

    body: Body
    sent: int = 0
    steers: list[tuple[str, list[Body]]] = field(default_factory=list)
    done: bool = False


@dataclass(slots=True)
class ResponsesSocket:
    """One connection. `choose` gives the provider's reply to a request; `drop` closes the connection below the socket."""

    socket: web.WebSocketResponse
    drop: Callable[[], None]
    received: Received
    responses: Responses
    stored: StoredResponses
    ids: Ids
    choose: Callable[[Asked], Chosen]
    sleep: Callable[[float], Awaitable[object]]
    _own: dict[str, StoredResponse] = field(default_factory=dict)
    _running: dict[str, _Running] = field(default_factory=dict)
    _queued: dict[str, list[Body]] = field(default_factory=dict)
    _lanes: dict[str, asyncio.Lock] = field(default_factory=dict)

    async def run(self) -> None:
        """Reads events until the client closes."""
        tasks: set[asyncio.Task[None]] = set()
        try:
            async for message in self.socket:
                if message.type is not WSMsgType.TEXT:
                    continue
                self.received.frames.append(message.data)
                task = asyncio.create_task(self._event(message.data))
                tasks.add(task)
                task.add_done_callback(tasks.discard)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _event(self, text: str) -> None:
        try:
            body = mapping(json.loads(text))
        except (ValueError, RecursionError):
            body = {}
        match body.get("type"):
            case "response.create":
                lane = body.get("stream_id")
                async with self._lanes.setdefault(str(lane), asyncio.Lock()):
                    await self._create(body)
            case "response.steer":
                await self._steer(body)
            case kind:
                await self._error(400, f"unknown event type {kind!r}", "invalid_event")

    async def _create(self, body: Body) -> None:
        waiting = self._queued.pop(str(body.get("previous_response_id")), [])
        if waiting:
            body = {**body, "input": [*waiting, *input_items(body)]}
        lane = {"stream_id": body["stream_id"]} if "stream_id" in body else {}
        try:
            asked = self.responses.read_event(self.received, body, self._own.items(), socket=True)
        except Refused as refused:
            self.received.refusals += refused.reasons
            await self._error(refused.status, refused.message, refused.code, lane)
            return
        match self.choose(asked):
            case Failure() as failure:
                await self._error(failure.status, failure.message, failure.code, lane)
            case Verbatim(text):
                await self._send(text if isinstance(text, str) else text.decode("utf-8", "replace"))
            case NoAnswer(closes):
                await self._stop(closes=closes)
            case str() | Reply() as said:
                reply = Reply(said) if isinstance(said, str) else said
                await self._play(asked, reply, self.responses.answer(asked, reply), lane)

    async def _play(self, asked: Asked, reply: Reply, answer: Answer, lane: Body) -> None:
        held, delivery = cast("StoredResponse", answer.held), reply.delivery
        id = str(held.body["id"])
        running = self._running[id] = _Running(asked.kept.body)
        events = disturbed(answer.events, delivery, self.responses.unknown_event(), self._failed)
        left = delivery.after
        if delivery.wait:
            await self.sleep(delivery.wait)
        output: list[Body] = []
        for name, data in events:
            if running.sent and delivery.pause:
                await self.sleep(delivery.pause)
            if running.steers and output and name == "response.output_item.added":
                held.body = {**held.body, "status": "incomplete", "incomplete_details": {"reason": "steered"}, "output": output}
                await self._number(running, {"type": "response.incomplete", "response": held.body}, lane)
                break
            left -= len(json_bytes(data)) if delivery.ends != "whole" else 0
            if left < 0:
                await self._stop(closes=delivery.ends == "cut")
                return
            await self._number(running, data, lane)
            if name == "error":
                running.done = True
                return
            if name == "response.output_item.done":
                output.append(data["item"])
        running.done = True
        answer.finish(True)
        self._own[id] = held
        await self._after(running, held, lane)

    async def _after(self, running: _Running, held: StoredResponse, lane: Body) -> None:
        """Starts the successor of a response that was steered, or keeps the input until its calls are answered."""
        if not running.steers:
            return
        id, queued = str(held.body["id"]), [item for _, input in running.steers for item in input]
        waits = [item for item in listed(held.body.get("output")) if item.get("type") in _RESULTS]
        if not waits:
            await self._create({**running.body, "previous_response_id": id, "input": queued})
            return
        self._queued[id] = queued
        needed = [_needed(item) for item in waits]
        for steer, _ in running.steers:
            told = {"type": "response.steer.pending", "reason": "waiting_for_required_input", "required_input": needed}
            await self._number(running, {**told, "steer": {"id": steer, "previous_response_id": id}}, lane)

    async def _steer(self, body: Body) -> None:
        id, given = str(body.get("previous_response_id")), body.get("input")
        running = self._running.get(id)
        items = input_items(body)
        reasons = list(fields_of("response.steer", body, {"type", "input", "previous_response_id"}, ()))
        problem = ""
        if reasons or not items or any(item.get("role") != "user" or not item.get("content") for item in items):
            problem = "invalid_input"
        elif running is None:
            problem = "response_not_found"
        elif running.body.get("conversation") is not None:
            problem = "steering_not_supported"
        elif running.done:
            problem = "response_already_completed"
        if problem or running is None:
            self.received.refusals += reasons or [problem]
            failed = {"type": "invalid_request_error", "code": problem, "message": "; ".join(reasons) or problem}
            steer: Body = {"input": given, "previous_response_id": id}
            sent = {"type": "response.steer.failed", "error": failed, "steer": steer}
            await self._number(running or _Running({}), sent, {})
            return
        steer_id = self.ids("steer_")
        running.steers.append((steer_id, items))
        lane = {"stream_id": running.body["stream_id"]} if "stream_id" in running.body else {}
        accepted = {"type": "response.steer.accepted", "steer": {"id": steer_id, "previous_response_id": id}}
        await self._number(running, accepted, lane)

    def _failed(self, failure: Failure) -> tuple[str, Any]:
        return self.responses.error_event(failure.status, failure.message, failure.code)

    async def _number(self, running: _Running, event: Body, lane: Body) -> None:
        running.sent += 1
        await self._send(json_bytes({**event, "sequence_number": running.sent - 1, **lane}).decode())

    async def _error(self, status: int, message: str, code: str, lane: Body | None = None) -> None:
        error = self.responses.error(status, message, code)["error"]
        await self._send(json_bytes({"type": "error", "status": status, "error": error, **(lane or {})}).decode())

    async def _send(self, text: str) -> None:
        self.received.sent += text.encode()
        await self.socket.send_str(text)

    async def _stop(self, *, closes: bool) -> None:
        """Closes the connection, or leaves it as it is."""
        if closes:
            self.drop()
        await asyncio.get_running_loop().create_future()


def _needed(item: Body) -> Body:
    named = {"name": item["name"]} if item["type"] == "function_call" else {}
    return {"type": _RESULTS[item["type"]], "call_id": item["call_id"], **named}
