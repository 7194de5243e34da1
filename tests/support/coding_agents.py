"""Coding agents: drivers that speak the hook protocols of Claude Code, Codex and Gemini CLI as their documents say.

A driver reads the hooks from the client's own settings files, sends events to them as the client does, and writes a transcript
in the client's shape.
"""

from __future__ import annotations

import json
import os
import subprocess
import tomllib
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["ClaudeCode", "Codex", "Gemini", "Told"]


@dataclass(frozen=True)
class Told:
    """What a client takes from its hooks for one event: text for the model, and whether anything would have been stopped."""

    text: str
    stopped: bool
    failed: bool


@dataclass
class ClaudeCode:
    """`variables` are the environment of the client's processes."""

    home: Path
    project: Path
    session: str
    variables: Mapping[str, str] = field(default_factory=dict)
    steps: int = 0

    @property
    def transcript(self) -> Path:
        return self.home / ".claude" / "projects" / "-shop" / f"{self.session}.jsonl"

    def hooks(self) -> Mapping[str, Any]:
        return dict(json.loads((self.home / ".claude" / "settings.json").read_text("utf-8"))["hooks"])

    def send(self, name: str, **fields: Any) -> Told:
        """Sends an event to all of its hooks."""
        base = {"session_id": self.session, "transcript_path": str(self.transcript), "cwd": str(self.project)}
        event = json.dumps({**base, "permission_mode": "default", "hook_event_name": name, **fields}).encode()
        told = [self._told(hook, event) for group in self.hooks().get(name, []) for hook in group["hooks"]]
        text = "\n".join(one.text for one in told if one.text)
        return Told(text, any(one.stopped for one in told), any(one.failed for one in told))

    def _told(self, hook: Mapping[str, Any], event: bytes) -> Told:
        if hook["type"] == "http":
            try:
                request = urllib.request.Request(hook["url"], event, {"content-type": "application/json", **hook["headers"]})
                with urllib.request.urlopen(request, timeout=hook["timeout"]) as answer:
                    return taken(answer.read())
            except (OSError, urllib.error.URLError):
                return Told("", stopped=False, failed=True)
        ran = subprocess.run(
            hook["command"],
            shell=True,
            input=event,
            capture_output=True,
            timeout=30,
            cwd=self.project,
            env={**os.environ, **self.variables},
            check=False,
        )
        if ran.returncode:
            return Told("", stopped=ran.returncode == 2, failed=True)
        return taken(ran.stdout)

    def asks(self, text: str) -> Told:
        """The person sends a prompt: the hook, then the line of the transcript."""
        told = self.send("UserPromptSubmit", prompt=text)
        self.write("user", {"role": "user", "content": text})
        return told

    def says(self, text: str) -> Told:
        """The model's answer, which ends the turn."""
        self.write("assistant", self.message({"type": "text", "text": text}))
        return self.send("Stop", stop_hook_active=False)

    def message(self, *blocks: Mapping[str, Any], id: str = "") -> dict[str, Any]:
        return {"id": id or f"msg_{self.session}_{self.steps}", "type": "message", "role": "assistant", "content": list(blocks)}

    def line(self, kind: str, message: Mapping[str, Any], **fields: Any) -> bytes:
        self.steps += 1
        step = {"type": kind, "uuid": f"{self.session}-{self.steps}", "sessionId": self.session, "cwd": str(self.project)}
        time = f"2026-11-01T10:{self.steps // 60 % 60:02}:{self.steps % 60:02}Z"
        return json.dumps({**step, "isSidechain": False, "timestamp": time, "message": message, **fields}).encode() + b"\n"

    def write(self, kind: str, message: Mapping[str, Any], **fields: Any) -> None:
        self.transcript.parent.mkdir(parents=True, exist_ok=True)
        with self.transcript.open("ab") as file:
            file.write(self.line(kind, message, **fields))


class Codex(ClaudeCode):
    @property
    def transcript(self) -> Path:
        return self.home / ".codex" / "sessions" / "2026" / f"rollout-{self.session}.jsonl"

    def hooks(self) -> Mapping[str, Any]:
        return dict(tomllib.loads((self.home / ".codex" / "config.toml").read_text("utf-8"))["hooks"])

    def line(self, kind: str, message: Mapping[str, Any], **fields: Any) -> bytes:
        self.steps += 1
        said = message["content"] if isinstance(message["content"], str) else message["content"][0]["text"]
        content = [{"type": "input_text" if kind == "user" else "output_text", "text": said}]
        time = f"2026-11-01T10:{self.steps // 60 % 60:02}:{self.steps % 60:02}Z"
        item = {"type": "message", "role": kind, "content": content}
        return json.dumps({"timestamp": time, "type": "response_item", "payload": item}).encode() + b"\n"


class Gemini(ClaudeCode):
    """It has no transcript that is read: the event that ends a turn has what was said."""

    def hooks(self) -> Mapping[str, Any]:
        return dict(json.loads((self.home / ".gemini" / "settings.json").read_text("utf-8"))["hooks"])

    def asks(self, text: str) -> Told:
        self.prompt = text
        return self.send("BeforeAgent", prompt=text, timestamp="2026-11-01T10:00:00Z")

    def says(self, text: str) -> Told:
        return self.send("AfterAgent", prompt=self.prompt, prompt_response=text, timestamp="2026-11-01T10:00:09Z")


def taken(printed: bytes) -> Told:
    """What a client takes from the output of a hook."""
    if not printed.strip():
        return Told("", stopped=False, failed=False)
    answer = json.loads(printed)
    stopped = answer.get("decision") == "block" or answer.get("continue") is False
    return Told(answer.get("hookSpecificOutput", {}).get("additionalContext", ""), stopped=stopped, failed=False)
