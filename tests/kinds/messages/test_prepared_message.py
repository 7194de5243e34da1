"""Prepared messages: what is stored of a caller's dict."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from germane.kinds.messages.prepared import slim
from germane.text.normal import valid_unicode
from support.examples import examples


def test_what_json_cannot_hold_is_dropped() -> None:
    """The rest stays as it was."""
    raw: Any = {
        "a": [1, object(), None],
        "b": {1, 2},
        "c": float("nan"),
        4: "x",
        "d": datetime(2024, 1, 1, tzinfo=UTC),
        "e": (True,),
    }
    assert slim(raw) == {"a": [1, None], "d": "2024-01-01T00:00:00+00:00", "e": [True]}


def test_large_payloads_are_replaced_by_a_marker() -> None:
    """A picture isn't export's business; its media type is."""
    data = "QUJD" * 2_000
    raw = {"url": f"data:image/png;base64,{data}", "source": {"data": data}, "small": "data:image/png;base64,QUJD"}
    assert slim(raw) == {
        "url": "data:image/png;base64,[8,022 characters of base64 left out]",
        "source": {"data": "[8,000 characters of base64 left out]"},
        "small": "data:image/png;base64,QUJD",
    }


def test_long_texts_stay_whole() -> None:
    """Words with blanks between them are no payload, nor is a script without blanks."""
    for text in ("word " * 2_000, "文字" * 4_000):
        assert slim({"content": text}) == {"content": text}


def test_a_circle_and_a_deep_nest_end() -> None:
    """Cut at 32 levels."""
    circle: dict[str, object] = {"a": 1}
    circle["self"] = circle
    assert json.dumps(slim(circle)).count("self") == 31


@examples(100)
@given(
    st.recursive(
        st.none() | st.floats() | st.text(st.characters()) | st.binary(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_whatever_is_kept_is_json_in_valid_unicode(value: object) -> None:
    """Any dict can be stored and exported."""
    json.dumps(slim({"value": value}), allow_nan=False, ensure_ascii=False).encode()


@examples(100)
@given(st.text(st.characters(exclude_categories=())))
def test_cleaning_changes_lone_surrogates_alone(text: str) -> None:
    """Length stays, so do all other characters."""
    cleaned = valid_unicode(text)
    cleaned.encode()
    assert all(new == old or (new == "\ufffd" and "\ud800" <= old <= "\udfff") for new, old in zip(cleaned, text, strict=True))
