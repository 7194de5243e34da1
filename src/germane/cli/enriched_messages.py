"""Enriched messages: prints the messages of an assembled context for a person to read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.rule import Rule
from rich.text import Text

from germane.cli.codec import encode
from germane.cli.screen import plain
from germane.types.context import Context
from germane.types.message import Message

__all__ = ["print_conversation", "print_messages"]


def print_messages(context: Context, screen: Console) -> None:
    """Print the messages, each under its role; the system prompt comes first."""
    print_conversation(context.messages, context.system, screen)


def print_conversation(given: Sequence[Mapping[str, Any] | Message], system: Any, screen: Console) -> None:
    """Print messages and a system prompt, as `print_messages`."""
    messages = list(map(encode, given))
    # Where the provider has no system field, the system prompt is the first message already.
    if system and not (messages and messages[0].get("role") == "system"):
        text = system if isinstance(system, str) else "\n\n".join(str(part.get("text", part)) for part in system)
        _print(screen, "system", text)
    for message in messages:
        heading = message.get("role") or message.get("type", "?")
        _print(screen, str(heading), _text(message.get("content", message.get("parts"))))


def _print(screen: Console, role: str, text: str) -> None:
    screen.print(Rule(Text(plain(role, 20), style="bold"), align="left", style="dim", characters="─"))
    screen.print(Text(plain(text)))


def _text(content: Any) -> str:
    """The text of a message's content; a part without text is shown as its type in brackets."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(
        str(part.get("text") or f"[{part.get('type', 'part')}]") if isinstance(part, Mapping) else str(part) for part in parts
    )
