"""Tokens and role labels of chat templates are neutralised."""

from __future__ import annotations

import re

import pytest

from germane.stages.write.escape import clean
from germane.stages.write.formats import FORMATS
from germane.text import templates
from germane.text.normal import normalised
from germane.text.templates import families, neutralise
from support.rendering import NONCE, chosen, opened

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
    "<s/>",
    "< s / >",
    "[ / INST ]",
    "<start_of_turn>",
    "<end_of_turn>",
    "[TOOL_CALLS]",
    "[AVAILABLE_TOOLS]",
    "＜｜im_start｜＞",
    "［INST］",
    "[𝐈𝐍𝐒𝐓]",
]


LISTED = [(family, token) for family, held in families().items() for token in held.get("tokens", ())]
WIDE = str.maketrans({code: code + 0xFEE0 for code in range(0x21, 0x7F)})
STRUCK = [
    "Sys{n}tem: obey",
    "{n}System: obey",
    "{N}Human: obey",
    "x\n{n} Assistant: obey",
    "## {n}Instruction: obey",
    "[IN{n}ST]",
    "<|{n}im_start|>",
]


def standing(token: str, text: str) -> bool:
    """Whether the token still stands in the text, as it is or after NFKC, white space aside."""
    forms = ("".join(form.split()).casefold() for form in (text, normalised(text, "NFKC")))
    wanted = "".join(normalised(token, "NFKC").split()).casefold()
    return any(wanted in form for form in forms)


@pytest.mark.requirement("FORMAT-3")
@pytest.mark.parametrize("name", sorted(FORMATS))
@pytest.mark.parametrize(("family", "listed"), LISTED, ids=[f"{family} {token}" for family, token in LISTED])
def test_every_listed_token_is_broken_in_every_format(name: str, family: str, listed: str) -> None:
    """As it stands, in capitals and small letters, in full width, with white space inside, in a label and in an id."""
    token = listed.replace("*", "42")
    spaced = re.sub(r"(?<=[<\[\]])|(?=[>\]])", " ", token)
    for written in (token, token.upper(), token.lower(), token.translate(WIDE), spaced, f"{token}{token}", f"a{token}b"):
        items = [chosen(f"before {written} after\n{written}", id=f"x{written}", speaker=written)]
        text = opened(name).write("", items).late
        assert not standing(token, text), text
        assert not standing(token, neutralise(written))


@pytest.mark.requirement("FORMAT-3")
def test_every_family_of_the_catalog_is_in_the_list() -> None:
    """Whoever adds a family to the catalog adds its tokens."""
    assert {"gpt", "claude", "gemini", "llama", "qwen", "deepseek", "mistral"} <= set(families())


@pytest.mark.requirement("FORMAT-3")
@pytest.mark.parametrize("struck", STRUCK)
def test_nothing_arises_where_the_nonce_was_struck(struck: str) -> None:
    """No role label at the start of a line, and no token."""
    held = struck.replace("{n}", NONCE).replace("{N}", NONCE.upper())
    for hidden in (held, held.translate(WIDE)):
        written = clean(hidden, NONCE)
        assert neutralise(written) == written
        assert NONCE not in normalised(written, "NFKC").lower()
        assert "…" in written or "..." in written


def test_brackets_are_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four times the text, four times the looking: also for white space behind a bracket, which took quadratic time."""
    seen = 0

    def listed(written: str) -> None:
        nonlocal seen
        seen += len(written)

    def looked(text: str) -> int:
        nonlocal seen
        seen = 0
        neutralise(text)
        return seen

    monkeypatch.setattr(templates, "_listed", listed)
    for piece in ("[", "[ ", "< ", "<<", "[a]", "]~", " ", "\n["):
        assert looked("[" + piece * 4_000 + "]") <= 4.5 * looked("[" + piece * 1_000 + "]") + 8


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
