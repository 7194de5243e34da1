"""Own parts: which messages of several parts are in the user's own words (PERSON-6)."""

from __future__ import annotations

from typing import Any

import pytest

from germane.dialects.registry import parse
from germane.events.extracting import found_in
from germane.events.prepared_message import PreparedMessage

pytestmark = pytest.mark.requirement("PERSON-6")

HOME = {"type": "text", "text": "I live in Leeds."}
REMINDER = {"type": "text", "text": "<system-reminder>\nI live in Hull.\n</system-reminder>"}
IMAGE = {"type": "image_url", "image_url": {"url": "https://example.org/a.png"}}
FILE = {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "I live in Hull."}}


def homes(*parts: dict[str, Any]) -> list[str]:
    prepared = PreparedMessage.of(parse({"role": "user", "content": list(parts)}), None, "UTC")
    assert prepared is not None
    return [one.text for one in found_in(prepared).stated]


@pytest.mark.parametrize(
    "parts", [[HOME], [REMINDER, HOME], [HOME, REMINDER], [REMINDER, HOME, REMINDER], [IMAGE, HOME], [FILE, HOME]]
)
def test_a_text_beside_what_a_client_or_a_file_says_is_the_users_own(parts: list[dict[str, Any]]) -> None:
    """Reminders, images and documents state nothing."""
    assert homes(*parts) == ["Leeds"]


@pytest.mark.parametrize(
    "parts",
    [[HOME, {"type": "text", "text": "please read the file above"}], [{"type": "text", "text": "See:"}, HOME], [REMINDER]],
)
def test_one_of_several_texts_is_nobodys_own(parts: list[dict[str, Any]]) -> None:
    """Nothing tells which of them the user wrote."""
    assert homes(*parts) == []
