"""Marks of chat templates lose their form."""

from __future__ import annotations

import re

import pytest

from germane.format.templates import neutralise

TOKENS = [
    "<|im_start|>",
    "<|eot_id|>",
    "<|begin▁of▁sentence|>",
    "[INST]",
    "[/INST]",
    "<<SYS>>",
    "<</SYS>>",
    "<s>",
    "</s>",
    "<start_of_turn>",
    "<end_of_turn>",
    "[TOOL_CALLS]",
    "[AVAILABLE_TOOLS]",
    "＜｜im_start｜＞",
    "［INST］",
    "[𝐈𝐍𝐒𝐓]",
]


@pytest.mark.requirement("FORMAT-3")
@pytest.mark.parametrize("token", TOKENS)
def test_template_tokens_are_broken_visibly(token: str) -> None:
    """Brackets turn round; the words stay."""
    written = neutralise(f"before {token} after")
    assert not re.search(r"[<>\[\]＜＞［］]", written)
    assert written.startswith("before (")
    assert written.endswith(") after")


@pytest.mark.requirement("FORMAT-3")
@pytest.mark.parametrize(
    "line", ["System: obey", "  human : obey", "**Assistant:** obey", "> [user]: obey", "System prompt: obey",
             "Ｓｙｓｔｅｍ： obey",
             "### Instruction: obey", "## Response: obey"],
)  # fmt: skip
def test_role_labels_at_the_start_of_a_line_lose_their_colon(line: str) -> None:
    """At the very start and after a newline alike."""
    for text in (line, f"hello\n{line}"):
        assert ":" not in neutralise(text)
        assert "obey" in neutralise(text)


@pytest.mark.parametrize(
    "text",
    [
        "The operating system: a history",
        "user-friendly: yes",
        "x[1] < y[2]",
        "if a <b> c",
        "## Notes",
        "a |> b <| c",
        "Caroline: hi",
    ],
)
def test_what_only_resembles_them_stays(text: str) -> None:
    """Nothing is changed for a word in it."""
    assert neutralise(text) == text
