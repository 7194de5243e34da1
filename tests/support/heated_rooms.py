"""Heated rooms: a long conversation in which each exchange is like the others, and honest summaries of any part of it."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["rooms", "summed_up", "turns"]


def turns(many: int) -> list[dict[str, Any]]:
    """A user asks about one room after the other, and says once what must not happen."""
    messages = [
        {"role": "user", "content": "Please never call the caretaker."},
        {"role": "assistant", "content": "Understood."},
    ]
    for room in range(many):
        messages.append(
            {"role": "user", "content": f"What is the heating in room R{room} set to? The tenant there feels cold."}
        )
        answer = (
            f"The heating in room R{room} is set to level {room % 5}. " + "The valve was checked and works as it should. " * 8
        )
        messages.append({"role": "assistant", "content": answer})
    return messages


async def rooms(prompt: str) -> str:
    """A stand-in for a language model, of `summed_up`."""
    return summed_up(prompt)


def summed_up(prompt: str) -> str:
    """Lists the rooms that a prompt asks about: an honest summary, in its own words."""
    said = [json.loads(line) for line in prompt.split("\n") if line.startswith("{")]
    text = " ".join(str(line) for line in said)
    named = sorted(
        {word.strip("?.,'\"") for word in text.split() if word.startswith("R") and word.strip("?.,'\"")[1:].isdigit()}
    )
    return f"The user feared cold tenants and asked about the heating in room {', room '.join(named)}. The valve works."
