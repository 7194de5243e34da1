"""Outline: lines of exchanges, made from what is stored of messages."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from germane.compaction.reading.exchange import read_exchange
from germane.compaction.reading.outline_line import read_line
from germane.dialects.registry import parse_all
from germane.kinds.conversations.outline import MAX_EXCHANGE_MESSAGES, OutlinedMessage, line_of_exchange, split_exchanges
from germane.types.message import Message

pytestmark = pytest.mark.requirement("HIST-5")

TEXT = "please fix the crane in src/quay.py because 12 ships wait; don't touch the tests. Done, it works now! ok thanks"


def said(*texts: str, raw: dict[str, Any] | None = None) -> list[OutlinedMessage]:
    """Messages of a user, and of the assistant where the text begins with `>`."""
    made = []
    for place, text in enumerate(texts):
        role = "assistant" if text.startswith(">") else "user"
        made.append(OutlinedMessage(place, f"{role}_message", role, "", text.removeprefix(">"), raw or {}, 1))
    return made


def test_an_exchange_goes_from_a_user_s_words_to_the_next() -> None:
    """The first one may begin without; a long one comes in parts, so that nothing has to be read as a whole."""
    parts = [len(part) for part in split_exchanges(said(">hello", "a", ">b", ">c", "d", "e"))]
    assert parts == [1, 3, 1, 1]
    long = [len(part) for part in split_exchanges(said("go", *([">on"] * 250)))]
    assert long == [MAX_EXCHANGE_MESSAGES, MAX_EXCHANGE_MESSAGES, 51]
    assert list(split_exchanges([])) == []


def test_a_line_is_one_line_of_bounded_length() -> None:
    """Whatever the messages are: long, empty of words, broken, or of a shape that can't be read."""
    for text in ("x" * 5_000_000, "a\n\nb\u2028c", "...", "ok", "\ud800", "   "):
        line = line_of_exchange(said(text))
        assert len(line) <= 400
        assert "\n" not in line
    assert line_of_exchange(said("ok")) == "ok"
    assert line_of_exchange(said("Look at it", raw={"role": "assistant", "tool_calls": 7})) != ""


def test_a_call_s_file_is_in_the_line_though_its_content_is_long() -> None:
    """Each argument keeps its beginning."""
    arguments = json.dumps({"content": "x" * 200_000, "path": "src/harbour.py"})
    call = {"role": "assistant", "tool_calls": [{"id": "c", "function": {"name": "write_file", "arguments": arguments}}]}
    result = {"role": "tool", "tool_call_id": "c", "content": "written"}
    exchange = said("Make a module for the harbour, please")
    exchange += [
        OutlinedMessage(1, "assistant_message", "assistant", "", "write_file(…)", call, 1),
        OutlinedMessage(2, "tool_message", "tool", "", "written", result, 1),
    ]
    line = line_of_exchange(exchange)
    assert "src/harbour.py" in line
    assert "write_file" in line


def test_the_line_read_alone_is_that_of_the_notes() -> None:
    """With calls and without, in any order."""
    rng = random.Random(3)
    words = TEXT.split()
    for _ in range(300):
        raws: list[dict[str, Any]] = []
        for number in range(rng.randrange(1, 7)):
            text = " ".join(rng.choices(words, k=rng.randrange(1, 40)))
            kind = rng.randrange(5)
            if kind == 0:
                arguments = json.dumps({"path": f"src/f{number}.py", "content": text})
                call = {"id": f"c{number}", "type": "function", "function": {"name": "write_file", "arguments": arguments}}
                raws += [{"role": "assistant", "content": None, "tool_calls": [call]}]
                raws += [{"role": "tool", "tool_call_id": f"c{number}", "content": text}] if rng.random() < 0.8 else []
            else:
                raws.append({"role": "user" if kind < 3 else "assistant", "content": text})
        messages: tuple[Message, ...] = parse_all(raws)
        assert read_line(messages) == read_exchange(messages).line
