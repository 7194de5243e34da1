"""Strict provider: a local server that speaks the protocols of OpenAI, Anthropic and Gemini, and refuses what they refuse.

It answers a conversation without a tool's result with a call of the tool `order`, where tools are given, or of `memory` where
that is the first one, and any other with a text. With `parallel`, it answers each of the user's messages with that many calls
of `order` at once, and their results with a text. It listens on the loopback address only.
"""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from support.strict_rules import anthropic_refuses, chat_refuses, gemini_refuses, responses_refuses

__all__ = ["PROTOCOLS", "SAID", "SIGNATURE", "StrictProvider", "strict_provider"]

SAID = "By e-mail."
SIGNATURE = base64.b64encode(b"thought \xff").decode()
Body = dict[str, Any]


@dataclass(frozen=True, slots=True)
class StrictProvider:
    """`address` begins with http://; `taken` and `refused` hold the requests so far, these with the reasons."""

    address: str
    parallel: int = 0
    taken: list[tuple[str, Body]] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)


@contextmanager
def strict_provider(*, parallel: int = 0) -> Iterator[StrictProvider]:
    """Serves in threads until the block ends."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    provider = StrictProvider(f"http://127.0.0.1:{server.server_port}", parallel)
    server.RequestHandlerClass = type("_Bound", (_Handler,), {"provider": provider})
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield provider
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Handler(BaseHTTPRequestHandler):
    provider: StrictProvider

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        for ending, (refuses, answers) in PROTOCOLS.items():
            if self.path.partition("?")[0].endswith(ending):
                problems = list(refuses(body))
                if problems:
                    self.provider.refused.extend(problems)
                    self._send(400, {"error": {"code": 400, "status": "INVALID_ARGUMENT", "message": "; ".join(problems)}})
                else:
                    self.provider.taken.append((ending, body))
                    self._send(200, _at_once(ending, body, self.provider) or answers(body))
                return
        self._send(404, {"error": {"code": 404, "status": "NOT_FOUND", "message": self.path}})

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing is written to standard error."""

    def _send(self, status: int, answer: Body) -> None:
        written = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(written)))
        self.end_headers()
        self.wfile.write(written)


def _chat(body: Body) -> Body:
    asked = bool(body.get("tools")) and all(message["role"] != "tool" for message in body["messages"])
    name, arguments = _call([tool["function"] for tool in body.get("tools") or ()])
    call = {"id": "call_1", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]} if asked else {"role": "assistant", "content": SAID}
    choice = {"index": 0, "finish_reason": "tool_calls" if asked else "stop", "message": message}
    return {"id": "c", "object": "chat.completion", "created": 1, "model": body["model"], "choices": [choice]}


def _responses(body: Body) -> Body:
    asked = all(item.get("type") != "function_call_output" for item in body["input"])
    call = {
        "type": "function_call",
        "id": "fc_1",
        "call_id": "call_1",
        "name": "order",
        "arguments": "{}",
        "status": "completed",
    }
    text = {"type": "output_text", "text": SAID, "annotations": []}
    said = {"type": "message", "id": "msg_1", "status": "completed", "role": "assistant", "content": [text]}
    number = "1" if asked else "2"
    reasoning: Body = {"type": "reasoning", "id": f"rs_{number}", "summary": [], "encrypted_content": "opaque", "status": None}
    output = [reasoning, call if asked else said]
    head = {"id": f"resp_{number}", "object": "response", "created_at": 1, "model": body["model"], "status": "completed"}
    return {**head, "output": output, "parallel_tool_calls": True, "tool_choice": "auto", "tools": []}


def _at_once(ending: str, body: Body, provider: StrictProvider) -> Body | None:
    """The answer of a provider that calls several tools at once: calls after a user's message, else a text."""
    if not provider.parallel or ending not in ("/chat/completions", "/responses"):
        return None
    number = len(provider.taken)
    asked = (body.get("messages") or body["input"])[-1].get("role") == "user"
    ids = [f"call_{number}_{each}" for each in range(provider.parallel)] if asked else []
    if ending == "/responses":
        answer = _responses(body)
        head: Body = {**answer["output"][0], "id": f"rs_{number}"}
        call = {"type": "function_call", "name": "order", "arguments": "{}", "status": "completed"}
        text = {"type": "output_text", "text": SAID, "annotations": []}
        spoken: Body = {"type": "message", "id": f"msg_{number}", "status": "completed", "role": "assistant", "content": [text]}
        items: list[Body] = [{**call, "id": f"fc_{id}", "call_id": id} for id in ids]
        return {**answer, "id": f"resp_{number}", "output": [head, *(items or [spoken])]}
    answer = _chat(body)
    function = {"name": "order", "arguments": "{}"}
    calls = [{"id": id, "type": "function", "function": function} for id in ids]
    message: Body = {"role": "assistant", "content": None, "tool_calls": calls}
    if not asked:
        message = {"role": "assistant", "content": SAID}
    choice = {"index": 0, "finish_reason": "tool_calls" if asked else "stop", "message": message}
    return {**answer, "choices": [choice]}


def _anthropic(body: Body) -> Body:
    asked = "tool_result" not in json.dumps(body["messages"])
    thinking = {"type": "thinking", "thinking": "hm", "signature": "s"}
    name, arguments = _call(body.get("tools") or [])
    use = {"type": "tool_use", "id": "toolu_1", "name": name, "input": arguments}
    content = [thinking, use] if asked else [{"type": "text", "text": SAID, "citations": None}]
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": body["model"], "stop_sequence": None}
    usage = {"input_tokens": 1, "output_tokens": 1}
    return {**head, "content": content, "stop_reason": "tool_use" if asked else "end_turn", "usage": usage}


def _gemini(body: Body) -> Body:
    asked = all("functionResponse" not in part for turn in body["contents"] for part in turn["parts"])
    call = {"functionCall": {"name": "order", "args": {}}, "thoughtSignature": SIGNATURE}
    content = {"role": "model", "parts": [call if asked else {"text": SAID}]}
    return {"candidates": [{"content": content, "finishReason": "STOP", "index": 0}]}


def _call(tools: Sequence[Body]) -> tuple[str, Body]:
    """The tool that is called, and its input."""
    if tools and tools[0].get("name") == "memory":
        return "memory", {"command": "view", "path": "/memories/system/user.md"}
    return "order", {}


PROTOCOLS: dict[str, tuple[Callable[[Body], Iterator[str]], Callable[[Body], Body]]] = {
    "/chat/completions": (chat_refuses, _chat),
    "/responses": (responses_refuses, _responses),
    "/messages": (anthropic_refuses, _anthropic),
    ":generateContent": (gemini_refuses, _gemini),
}
