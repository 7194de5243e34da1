"""Pieces: several pieces of one message of the Messages API are one message."""

from __future__ import annotations

from typing import Any

import pytest

from germane.dialects.framework_messages import joined_messages
from germane.errors import Conflict
from germane.sync import Germane

pytestmark = pytest.mark.requirement("INJECT-11")

LOOK = {"type": "text", "text": "I look."}
ASKED = {"role": "user", "content": "Where is it?"}


def piece(*blocks: dict[str, Any], id: str = "m1") -> dict[str, Any]:
    return {"id": id, "type": "message", "role": "assistant", "content": list(blocks)}


def call(id: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": "Grep", "input": {"pattern": id}}


def result(id: str) -> dict[str, Any]:
    return {"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": f"found {id}"}]}


def test_pieces_are_joined_and_results_between_them_come_behind() -> None:
    """Nothing of them is lost, and the calls stand together before their results."""
    given = [ASKED, piece(LOOK), piece(call("a")), result("a"), piece(call("b")), result("b"), piece(LOOK, id="m2")]
    first, second = [dict(one) for one in given], piece(LOOK, call("a"), call("b"))
    assert list(joined_messages(given)) == [ASKED, second, result("a"), result("b"), piece(LOOK, id="m2")]
    assert given == first


def test_a_piece_that_is_given_again_adds_what_is_new() -> None:
    """SDKs give either the new block or all blocks so far."""
    assert list(joined_messages([piece(LOOK), piece(LOOK)])) == [piece(LOOK)]
    assert list(joined_messages([piece(LOOK), piece(LOOK, call("a")), piece(call("a"))])) == [piece(LOOK, call("a"))]


def test_messages_without_pieces_are_the_same_objects() -> None:
    """Most calls hold none."""
    given: list[Any] = [ASKED, piece(LOOK), result("a"), object(), {"type": "message", "role": "assistant", "id": 7}]
    assert all(one is other for one, other in zip(joined_messages(given), given, strict=True))


def test_a_hundred_thousand_pieces_take_linear_time() -> None:
    """Each block is moved once."""
    given = [piece(call(str(number))) for number in range(100_000)]
    (whole,) = joined_messages(given)
    assert isinstance(whole, dict)
    assert len(whole["content"]) == 100_000


def test_record_keeps_the_lines_of_a_transcript_as_messages() -> None:
    """Sent again, they are known; an id for other content is still refused."""
    lines = [ASKED, piece(LOOK), piece(call("zeppelin")), result("zeppelin")]
    with Germane.open(":memory:") as germane:
        agent = germane.agent("x", user="u")
        assert len(agent.record(lines, session="s").added) == 3
        assert not agent.record(lines, session="s").added
        _, said, found = agent.messages("s").messages[::-1]
        assert said.text == 'I look.\nGrep({"pattern": "zeppelin"})'
        assert found.text == "found zeppelin"
        many = [piece(call(str(number)), id="long") for number in range(300)]
        assert len(agent.record([ASKED, *many, piece(LOOK, id="end")], session="t").added) == 3
        with pytest.raises(Conflict):
            agent.record([piece({"type": "text", "text": "other"})], session="s")
