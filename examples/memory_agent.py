"""Memory agent: an agent that keeps its own memory files, with the official Anthropic SDK and its tool runner.

    pip install 'germane[anthropic,blocks]'
    python examples/memory_agent.py

The files are blocks: what the model writes into /memories/system is in its later prompts, each edit is a version, and you can
undo it. Without an ANTHROPIC_API_KEY, a local server with scripted answers stands in for the model."""

import json
import os
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

from anthropic import Anthropic

from germane.integrations.memory_tool.anthropic_tool import BlockingAnthropicMemoryTool
from germane.sync import Germane

FILE = "/memories/system/user.md"
SCRIPT = [
    {"command": "view", "path": "/memories"},
    {"command": "create", "path": FILE, "file_text": "Name: Caroline\nWants short answers\n"},
    {"command": "str_replace", "path": FILE, "old_str": "short", "new_str": "very short"},
    "Noted.",
]


class Scripted(BaseHTTPRequestHandler):
    """Speaks the Messages API: answers with the step of the script that follows the assistant's turns so far."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        number = sum(message["role"] == "assistant" for message in body["messages"])
        step, text = SCRIPT[number], isinstance(SCRIPT[number], str)
        call = {"type": "tool_use", "id": f"toolu_{number}", "name": "memory", "input": step}
        answer = {"id": f"msg_{number}", "type": "message", "role": "assistant", "model": body["model"], "stop_sequence": None}
        answer |= {
            "content": [{"type": "text", "text": step} if text else call],
            "stop_reason": "end_turn" if text else "tool_use",
        }
        written = json.dumps({**answer, "usage": {"input_tokens": 1, "output_tokens": 1}}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(written)))
        self.end_headers()
        self.wfile.write(written)

    def log_message(self, *_: object) -> None:
        """Says nothing."""


def talk(client: Anthropic) -> None:
    with Germane.open("memory.db") as germane:
        agent = germane.agent("companion", user="caroline")
        runner = client.beta.messages.tool_runner(
            model="claude-opus-4-8",
            max_tokens=1000,
            system=f"Keep what you learn about the user in {FILE}.",
            messages=[{"role": "user", "content": "I'm Caroline. Please keep your answers very short!"}],
            tools=[BlockingAnthropicMemoryTool(agent, by="claude")],
            max_iterations=10,
            thread=False,  # each request holds the whole conversation
        )
        for message in runner:
            print(message.stop_reason, [block.type for block in message.content])
        for block in agent.blocks.list("core"):
            print(block.label, [(version.operation, version.by) for version in agent.blocks.versions(block.label)])
            print(block.text)


def main() -> None:
    if os.environ.get("ANTHROPIC_API_KEY"):
        talk(Anthropic())
        return
    with HTTPServer(("127.0.0.1", 0), Scripted) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        with Anthropic(api_key="none", base_url=f"http://127.0.0.1:{server.server_port}") as client:
            talk(client)
        server.shutdown()


if __name__ == "__main__":
    main()
