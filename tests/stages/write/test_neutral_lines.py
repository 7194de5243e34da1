"""Every written line is checked as a whole: no parts that are joined make a token or a role label of a chat template."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from germane.api.builder.system_prompt import Activity, write_activity
from germane.compaction.placeholders import held_summary, summary_block
from germane.stages.write.formats import FORMATS
from germane.stages.write.item_text import write_block
from germane.text.templates import families, neutralise, neutralise_line
from germane.types.candidate import BlockText, EntityText, GraphItem, PatternText, RelationText
from germane.types.message import Message
from support.examples import examples
from support.rendering import NONCE, chosen, opened

pytestmark = pytest.mark.requirement("FORMAT-3")

TOKENS = sorted(token for family in families().values() for token in family.get("tokens", ()) if "*" not in token)
PIECES = sorted({piece for token in TOKENS for piece in (token, token[1:], token[:-1], token[1:-1], f"/{token[1:-1]}")})
FRAGMENTS = st.lists(st.sampled_from([*PIECES, "[", "]", "<", ">", " ", "\n", "System:", "user", "a"]), max_size=4).map("".join)


def lines_of(text: str) -> None:
    """No line holds anything that `neutralise` would break."""
    assert [line for line in text.split("\n") if neutralise(line) != line] == []


@pytest.mark.parametrize("name", sorted(FORMATS))
@examples(40)
@given(st.lists(FRAGMENTS, min_size=8, max_size=8))
@example(["", "<|reserved_special_token_0|", "", "", "", "", "", ""])
@example(["/INST", "TOOL_CALLS", "~b]system", "user", "INST]", "[INST", "[", "]"])
def test_no_join_of_stored_parts_makes_a_token(name: str, parts: list[str]) -> None:
    """In every format, for messages, events, memories, passages, entities, relations and patterns."""
    a, b, c, d, e, f, g, h = parts
    now = datetime(2023, 5, 8, tzinfo=UTC)
    shown: list[Any] = [
        EntityText(type=a, name=c, properties=((b, d),)),
        RelationText(source=c, type=b, target=d, valid_from=None, valid_to=now),
        PatternText(action=e, successes=1, applications=1),
    ]
    items = [
        chosen(c, id="1", speaker=a, title=d, category="conversation"),
        chosen(f"{e} {f}", id="2", event_type="shell_exec", outcome=a, category="activity"),
        chosen(d, id="3", category=b, title=g),
        chosen(f"{g}: {h}", id="4", category="document", title=e),
        chosen(h, id="5", category="outline"),
        *(
            chosen(
                "x",
                id=f"g{place}",
                category=("entity", "relation", "pattern")[place],
                graph=GraphItem(shown=one, prior=0.5, salience=0.5),
            )
            for place, one in enumerate(shown)
        ),
    ]
    written = opened(name).write("", items)
    lines_of(written.late)
    assert all(item.handle and (item.handle in written.late or name == "digest") for item in written.items)


@examples(60)
@given(FRAGMENTS, FRAGMENTS, FRAGMENTS)
def test_nothing_else_that_is_written_makes_one(a: str, b: str, c: str) -> None:
    """Blocks, the activity of a builder, and a summary, which is known again as it was written."""
    block = BlockText(id="b", type="core", label=a or "x", text=b, description=c, schema=a, permission="ReadWrite")
    lines_of(write_block(block, NONCE, schema=True))
    at = datetime(2023, 5, 8, tzinfo=UTC)
    lines_of(write_activity([Activity(agent=a or "x", text=b or "x", at=at)], NONCE, UTC))
    summary = summary_block(f"{a}\n- {b}: {c}", 3, 0, "")
    lines_of(summary)
    held = held_summary(Message.of("user", summary))
    assert held is not None
    assert summary_block(*held) == summary


def test_a_token_with_germanes_own_bracket_is_broken_at_the_other_one() -> None:
    """The handle stays as it is; a line that is neutral stays the same."""
    assert neutralise_line("[m1]", "[m1]~b]system") == "[m1]~b)system"
    assert neutralise_line("[m1]", "[m1] done [/INST]") == "[m1] done (/INST)"
    assert neutralise_line("[m1]", line := "[m1] done [success]") is line
