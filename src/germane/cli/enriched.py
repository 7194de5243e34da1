"""Enriched: the messages as the model would get them, laid out for a person to read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.rule import Rule
from rich.text import Text

from germane.cli.codec import encode
from germane.cli.screen import plain
from germane.types.context import Context

__all__ = ["enriched"]


def enriched(done: Context, where: Console) -> None:
    """Print them, the system's first, each under its role."""
    messages = list(map(encode, done.messages))
    if messages and messages[0].get("role") == "system":
        pass  # it is among the messages already
    elif isinstance(done.system, str) and done.system:
        _said(where, "system", done.system)
    elif done.system:
        _said(where, "system", "\n\n".join(str(part.get("text", part)) for part in done.system))
    for message in messages:
        role = str(message.get("role", "?"))
        _said(where, role, _readable(message.get("content", message.get("parts"))))


def _said(where: Console, role: str, text: str) -> None:
    where.print(Rule(Text(plain(role, 20), style="bold"), align="left", style="dim", characters="─"))
    where.print(Text(plain(text)))


def _readable(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(
        str(part.get("text") or f"[{part.get('type', 'part')}]") if isinstance(part, Mapping) else str(part) for part in parts
    )
