"""Survival: generated conversations, and scores that grade any compaction by its text alone (HIST-5)."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from importlib.resources import files

import pytest

from germane.compaction.reading.exchange import read_exchange
from germane.compaction.summary_text import extractive_summary, notes_of_summary
from germane.dialects.registry import dialect, parse_all
from germane.types.message import Message, Wire
from germane_eval.survival import (
    ExpectedArtifact,
    ExpectedConstraint,
    SurvivalConversation,
    artifact_survival,
    constraint_survival,
    lost_artifacts,
    survival_conversations,
)

pytestmark = pytest.mark.requirement("HIST-5")


def quarter(text: str) -> int:
    return (len(text.encode()) + 3) // 4


def exchanges(conversation: SurvivalConversation) -> list[list[Message]]:
    found = list[list[Message]]()
    for message in parse_all(conversation.messages):
        if message.role == "user" or not found:
            found.append([])
        found[-1].append(message)
    return found


@pytest.mark.parametrize(
    ("line", "survived"),
    [
        ("- Don't touch the tests.", True),
        ("The TESTS must not be  touched", True),
        ("Don't touch them.\nThe tests pass.", False),
        ("", False),
    ],
)
def test_a_constraint_survives_where_one_line_has_its_words(line: str, survived: bool) -> None:
    """In any order, without regard to case."""
    expected = ExpectedConstraint(text="don't touch the tests", words=("touch", "tests"))
    assert constraint_survival(line, [expected]) == survived


@pytest.mark.parametrize(
    ("line", "survived"),
    [
        ("src/a.py: created, edited ×3", True),
        ("We edited src/a.py.", True),
        ('edit_file({"path": "src/a.py"})', True),
        ("src/a.py: created", False),
        ("edited src/a.pyc", False),
        ("edited lib/src/a.py", False),
        ("src/a.py\nedited", False),
        (f"src/a.py {'x' * 300} edited", False),
    ],
)
def test_a_file_survives_with_its_last_change_near_it(line: str, survived: bool) -> None:
    """The name as a whole, and the change within 200 characters of the same line."""
    expected = ExpectedArtifact(kind="file", names=("src/a.py",), changes=("edit",))
    assert artifact_survival(line, [expected]) == survived


def test_a_resolution_may_be_the_conversations_own_words_further_down() -> None:
    """The failing command's next run counts where the messages are still there, but not one before the error."""
    expected = ExpectedArtifact(kind="error", names=("KeyError: 'x'",), changes=("resolv",), later=("pytest -q",))
    assert artifact_survival("KeyError: 'x'\npytest -q\n1 passed", [expected]) == 1
    assert artifact_survival("pytest -q\nKeyError: 'x'", [expected]) == 0


def test_messages_of_any_provider_are_read() -> None:
    """Texts, and the calls and results of tools."""
    expected = ExpectedArtifact(kind="id", names=("88121",))
    anthropic = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "order 88121"}]}
    chat = {
        "role": "assistant",
        "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": '{"a": "88121"}'}}],
    }
    assert artifact_survival([anthropic], [expected]) == artifact_survival([chat], [expected]) == 1
    assert lost_artifacts([{"role": "user", "content": "order 881210"}], [expected]) == (expected,)


def test_nothing_expected_has_survived() -> None:
    """No division by zero."""
    assert constraint_survival("", []) == artifact_survival([], []) == 1


def test_conversations_are_valid_and_the_same_each_time() -> None:
    """Of all kinds of agents, in all languages, with constraints early."""
    made = list(survival_conversations(21, exchanges=12))
    assert made == list(survival_conversations(21, exchanges=12))
    assert {one.agent for one in made} == {"coding", "support", "research"}
    assert len({one.language for one in made}) == 7
    for one in made:
        assert not dialect("openai").problems(Wire(messages=list(one.messages)))
        assert len(one.constraints) == 3
        asked = [message["content"] for message in one.messages if message["role"] == "user"]
        assert all(any(each.text in text for text in asked[:6]) for each in one.constraints)
        assert constraint_survival(one.messages, one.constraints) == 1
        assert artifact_survival(one.messages, one.artifacts) == 1


def phrases(split: str) -> Iterator[str]:
    table = tomllib.loads(files("germane_eval.survival").joinpath(f"{split}.toml").read_text("utf-8"))
    for kinds in table.values():
        for kind in ("tasks", "constraints", "chatter", "decisions", "open", "fixed"):
            yield from kinds[kind]


def test_the_held_out_phrases_are_others() -> None:
    """No phrase stands in both sets."""
    assert set(phrases("development")).isdisjoint(phrases("held_out"))
    assert len(list(phrases("held_out"))) > 100


@pytest.mark.parametrize("rounds", [1, 3, 10])
def test_constraints_and_artifacts_survive_extractive_summaries(rounds: int) -> None:
    """Each summary built on what is read back of the one before, within 2,000 tokens."""
    for one in survival_conversations(14, exchanges=30):
        notes = [read_exchange(each) for each in exchanges(one)]
        text = ""
        for number in range(rounds):
            part = notes[number * len(notes) // rounds : (number + 1) * len(notes) // rounds]
            text = extractive_summary([*notes_of_summary(text), *part], 2_000, quarter)
        assert quarter(text) <= 2_000
        assert constraint_survival(text, one.constraints) == 1
        assert lost_artifacts(text, one.artifacts) == ()
