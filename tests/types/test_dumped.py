"""SDK objects inside messages are dumped once, wherever they stand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from germane import Agent, InvalidInput
from germane.types.nested_data import dump, without_objects
from support.stories import ASKED


class Model:
    """An SDK's object. `said` is what its dump holds."""

    def __init__(self, **said: Any) -> None:
        self.said = said
        self.dumps = 0

    def model_dump(self, *, exclude_none: bool, exclude: Any = ()) -> Any:
        self.dumps += 1
        return {key: value for key, value in self.said.items() if value is not None and key not in exclude}


class Parsed(Model):
    __api_exclude__ = ("parsed",)


class Foo:
    """No SDK's object."""


class Failing:
    def model_dump(self, **options: Any) -> Any:
        raise RuntimeError("secret")


class Endless:
    def model_dump(self, **options: Any) -> Any:
        return {"content": [self]}


class Shy:
    @property
    def model_dump(self) -> Any:
        raise ValueError("secret")


class Odd:
    def model_dump(self, **options: Any) -> Any:
        return "no mapping"


class Wide:
    def model_dump(self, **options: Any) -> Any:
        return {"parts": [{}] * 200_000}


def plain(message: Any) -> Any:
    return without_objects("message 3", "messages[3]", message)


@pytest.mark.requirement("INJECT-7")
def test_a_message_without_objects_stays_the_same_object() -> None:
    """Nothing is copied."""
    message = {"role": "user", "content": [{"type": "text", "text": "x"}], "extra": object()}
    assert plain(message) is message


@pytest.mark.requirement("INJECT-7")
def test_objects_are_dumped_wherever_they_stand_and_only_their_containers_copied() -> None:
    """In lists and in fields, also inside a dump; fields that the SDK never sends are left out. Each is dumped once."""
    block, inner = Parsed(type="text", text="x", parsed=5, citations=None), Model(name="f")
    kept = {"type": "text", "text": "mine"}
    message = {"role": "assistant", "content": [kept, block], "tool_calls": [Model(function=inner)], "more": {"at": inner}}
    found = plain(message)
    assert found == {
        "role": "assistant",
        "content": [kept, {"type": "text", "text": "x"}],
        "tool_calls": [{"function": {"name": "f"}}],
        "more": {"at": {"name": "f"}},
    }
    assert found["content"][0] is kept
    assert message["content"] == [kept, block]
    assert (block.dumps, inner.dumps) == (1, 2)
    assert plain(Model(role="user", content="x")) == {"role": "user", "content": "x"}


@pytest.mark.requirement("INJECT-7")
@pytest.mark.parametrize(
    ("message", "text"),
    [
        ({"role": "user", "content": [{"type": "text"}, Foo()]}, r"^messages\[3\]\.content\[1\] is Foo: give text, a mapping"),
        ({"role": "user", "parts": (Foo(),)}, r"^messages\[3\]\.parts\[0\] is Foo"),
        ({"role": "user", "content": Foo()}, r"^messages\[3\]\.content is Foo"),
        ({"role": "assistant", "tool_calls": [Odd()]}, r"^messages\[3\]\.tool_calls\[0\] is Odd"),
        ({"role": "user", "content": [{"content": [Foo()]}]}, r"^messages\[3\]\.content\[0\]\.content\[0\] is Foo"),
        ({"role": "user", "content": [Failing()]}, r"^messages\[3\]\.content\[0\] is a Failing that can't be read \(Runtime"),
        ({"role": "user", "content": [Shy()]}, r"^messages\[3\]\.content\[0\] is a Shy that can't be read \(ValueError\)"),
        ({"role": "user", "content": [Endless()]}, "^message 3 is nested deeper than 64 levels, or contains itself"),
        ({"role": "user", "content": [Wide()]}, "^message 3 has at least 200,"),
        ({10**5000: [Failing()]}, r"^messages\[3\]"),
    ],
)
def test_what_cannot_be_read_is_refused_by_its_place(message: Mapping[Any, Any], text: str) -> None:
    """Objects of an unknown kind, and dumps that fail, never end or hold too much; the object's own words aren't quoted."""
    with pytest.raises(InvalidInput, match=text) as caught:
        plain(message)
    assert "secret" not in str(caught.value)


@pytest.mark.requirement("INJECT-7")
def test_what_is_no_sdks_object_has_no_dump() -> None:
    """Classes and mappings are none."""
    assert [dump(value) for value in (Model, {"a": 1}, 5, Foo(), Odd())] == [None] * 5


@pytest.mark.requirement("INJECT-7")
@pytest.mark.parametrize("wrong", [Failing(), Endless(), Wide(), Foo(), Shy(), Odd()], ids=lambda one: type(one).__name__)
async def test_assembling_and_recording_refuse_them_with_an_error_of_germanes(agent: Agent, wrong: Any) -> None:
    """As arguments, before anything else."""
    messages = [*ASKED, {"role": "user", "content": [wrong]}]
    with pytest.raises(InvalidInput, match="message"):
        await agent.assemble(messages, model="gpt-4o")
    with pytest.raises(InvalidInput, match="message"):
        await agent.record(messages, session="s")


@pytest.mark.requirement("INJECT-7")
async def test_what_is_sent_and_stored_is_the_dump(agent: Agent) -> None:
    """An object that dumps otherwise a second time can't send what wasn't counted."""
    block = Model(type="text", text="My vase is blue.")
    messages = [{"role": "user", "content": [block]}]
    context = await agent.assemble(messages, model="claude-sonnet-4-5", deadline=None)
    assert context.messages == [{"role": "user", "content": [{"type": "text", "text": "My vase is blue."}]}]
    assert block.dumps == 1
    await agent.record(messages, session="s")
    assert [one["content"] async for one in agent.export() if one["type"] == "message"] == ["My vase is blue."]
