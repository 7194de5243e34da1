"""Hook events: what the hooks of Claude Code, Codex and Gemini CLI send, as one shape, and the answers in the shape of each.

The clients' documents as of November 2026: an event is one JSON object with `hook_event_name`, `session_id`, `cwd` and mostly
`transcript_path`. Text for the model goes back in `hookSpecificOutput.additionalContext`. No answer here ever stops, blocks or
changes what the client does.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from germane.types.limits import ID

Moment = Literal["start", "prompt", "step", "turn", "compacting", "other"]
"""When an event happens: a session starts; the user has sent a prompt; a tool or a subagent has ended; the turn has; the client
is about to shorten its conversation."""
MAX_CHARACTERS = 10_000
"""Characters of text that Claude Code takes from a hook; a longer one it puts into a file."""
_MAX_PATH = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class HookClient:
    """A coding agent whose hooks are known. `model` is one that it works with, for counting tokens. `moments` are its events by
    name; `variable` and `home` say where its transcripts are, and `format` how they are written; "" for a client whose
    transcripts aren't read."""

    name: str
    model: str
    moments: Mapping[str, Moment]
    variable: str = ""
    home: str = ""
    transcripts: str = ""
    format: str = ""

    def folders(self, environment: Mapping[str, str], home: Path, data: Path) -> tuple[Path, ...]:
        """Returns the folders that the client keeps its transcripts in: that of the variable, else of the home, and the one
        that was noted in the service's folder. None where no transcripts are read."""
        if not self.format:
            return ()
        own, noted = environment.get(self.variable, ""), _noted_home(data, self.name)
        homes = (Path(own) if own.startswith("/") else home / self.home, *([Path(noted)] if noted else []))
        return tuple(one / self.transcripts for one in homes)


_SHARED: Mapping[str, Moment] = MappingProxyType(
    {
        "SessionStart": "start",
        "UserPromptSubmit": "prompt",
        "PostToolUse": "step",
        "SubagentStop": "step",
        "Stop": "turn",
        "SessionEnd": "turn",
        "PreCompact": "compacting",
    }
)
CLIENTS: Mapping[str, HookClient] = MappingProxyType(
    {
        one.name: one
        for one in (
            HookClient(
                name="claude-code",
                model="claude-opus-4-6",
                moments=_SHARED,
                variable="CLAUDE_CONFIG_DIR",
                home=".claude",
                transcripts="projects",
                format="claude-code",
            ),
            HookClient(
                name="codex",
                model="gpt-5",
                moments=_SHARED,
                variable="CODEX_HOME",
                home=".codex",
                transcripts="sessions",
                format="codex",
            ),
            HookClient(
                name="gemini",
                model="gemini-2.5-pro",
                moments=MappingProxyType(
                    {"SessionStart": "start", "BeforeAgent": "prompt", "AfterAgent": "turn", "PreCompress": "compacting"}
                ),
            ),
        )
    }
)
"""The clients by their names."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HookEvent:
    """One event. `source` says how a session started (`startup`, `resume`, `clear`, `compact`). `said` are the messages of a
    turn, of a client that sends them with its event."""

    client: HookClient
    name: str
    moment: Moment
    session: str
    folder: str
    transcript: str = ""
    prompt: str = ""
    source: str = ""
    said: tuple[Mapping[str, Any], ...] = ()

    def answer(self, text: str = "", remark: str = "") -> dict[str, Any]:
        """Returns the answer: `text` for the model, `remark` for the person; an empty object for neither."""
        given: dict[str, Any] = {"systemMessage": remark} if remark else {}
        if text and self.moment in ("start", "prompt"):
            given["hookSpecificOutput"] = {"hookEventName": self.name, "additionalContext": text}
        return given


def read_event(client: HookClient, body: bytes) -> HookEvent | None:
    """Returns the event; None for what can't be read, and for one without a session or a folder."""
    try:
        fields = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(fields, dict):
        return None
    name, session, folder = (_text(fields, key) for key in ("hook_event_name", "session_id", "cwd"))
    session = _printable(session)[: ID.maximum]
    if not session or not folder.startswith("/") or len(folder) > _MAX_PATH:
        return None
    moment = client.moments.get(name, "other")
    return HookEvent(
        client=client,
        name=name,
        moment=moment,
        session=session,
        folder=folder,
        transcript=_text(fields, "transcript_path")[:_MAX_PATH],
        prompt=_text(fields, "prompt"),
        source=_text(fields, "source"),
        said=_said(fields, session) if moment == "turn" and not client.format else (),
    )


def note_home(data: Path, client: str, home: Path) -> None:
    """Notes where a client has its files, as its environment says when it is installed: the service's may not say it."""
    folder = data / "clients"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    (folder / f"{client}.home").write_text(str(home), "utf-8")


def _noted_home(data: Path, client: str) -> str:
    try:
        noted = (data / "clients" / f"{client}.home").read_text("utf-8")[:_MAX_PATH].strip()
    except (OSError, ValueError):
        return ""
    return noted if noted.startswith("/") else ""


def _said(fields: Mapping[str, Any], session: str) -> tuple[Mapping[str, Any], ...]:
    """The prompt and the answer of a turn, each with an id that is the same when the event is sent again."""
    time = _text(fields, "timestamp")
    told = []
    for role, key in (("user", "prompt"), ("assistant", "prompt_response")):
        if text := _text(fields, key).strip():
            digest = blake2b(f"{session}\0{time}\0{role}\0{text}".encode(), digest_size=12).hexdigest()
            told.append({"role": role, "content": text, "id": f"hook-{digest}", **({"created_at": time} if time else {})})
    return tuple(told)


def _text(fields: Mapping[str, Any], key: str) -> str:
    """The field where it is text, valid Unicode; else an empty text."""
    value = fields.get(key)
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else ""


def _printable(text: str) -> str:
    return "".join(char for char in text if char.isprintable())
