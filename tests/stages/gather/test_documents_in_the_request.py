"""A document in a message of the request isn't brought again from the store, however long it is (GATHER-2a)."""

from __future__ import annotations

from typing import Any

import pytest

from germane.sync import Germane

FACTS = [f"The stone number {number} of the collection weighs {number * 7} kilos and came from Tarn." for number in range(300)]


@pytest.mark.requirement("GATHER-2a", "INJECT-11")
@pytest.mark.parametrize("length", [3, 300])
def test_a_document_of_the_request_isnt_brought_again(length: int) -> None:
    """In another conversation it is."""
    source = {"type": "text", "media_type": "text/plain", "data": "\n".join(FACTS[:length])}
    asked = {"role": "user", "content": [{"type": "document", "source": source}, {"type": "text", "text": "Keep this."}]}
    talk: list[dict[str, Any]] = [
        asked,
        {"role": "assistant", "content": "Kept."},
        {"role": "user", "content": "What does stone number 2 weigh?"},
    ]
    with Germane.open(":memory:") as germane:
        agent = germane.agent("museum", user="ada")
        agent.record(talk[:2], session="one")
        again = agent.assemble(talk, model="claude-opus-4-8", session="one", deadline=None)
        assert not [item for item in again.items if "kilos" in item.text]
        elsewhere = agent.assemble(talk[2:], model="claude-opus-4-8", session="two", deadline=None)
        assert [item for item in elsewhere.items if "weighs 14 kilos" in item.text]
