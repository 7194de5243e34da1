"""No stored text passes for text that germane writes. `bench/forgery.py` checks a hundred thousand cases."""

from __future__ import annotations

from pathlib import Path
from runpy import run_path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.types.strategy import Detail
from support.examples import examples
from support.rendering import NONCE, chosen, opened

_SOURCE = Path(__file__).parents[3] / "bench" / "forgery.py"
_bench: dict[str, Any] = run_path(str(_SOURCE))
forgeries, trials = _bench["forgeries"], _bench["trials"]

STRUCTURE = st.sampled_from(
    [
        NONCE,
        "\n",
        "<",
        ">",
        "＜",
        "\u0338",
        "</memory>",
        "[a1] ",
        "\n## 2023-05-08",
        f'<memory nonce="{NONCE}">',
        "\u2028",
        "\r",
        '"',
    ]
)
HOSTILE = st.lists(st.one_of(STRUCTURE, st.text(st.characters(), max_size=8)), max_size=8).map("".join)


@pytest.mark.requirement("FORMAT-3")
def test_no_hostile_content_id_label_or_category_forges_a_delimiter() -> None:
    """As written and in every normal form."""
    assert [problem for _, problem in trials(1_000, 7, ()) if problem] == []


@pytest.mark.requirement("FORMAT-3")
@pytest.mark.parametrize(
    ("name", "details"), [("xml", ()), ("xml", ("id", "confidence", "score")), ("compact", ()), ("markdown", ())]
)
@examples(150)
@given(text=HOSTILE, id=HOSTILE, speaker=HOSTILE, category=HOSTILE, directive=HOSTILE)
def test_no_mixture_of_structure_and_noise_does(
    name: str, details: tuple[Detail, ...], text: str, id: str, speaker: str, category: str, directive: str
) -> None:
    """Two items go in and two stand there."""
    items = [chosen(text, id=f"1{id}", speaker=speaker), chosen(text, id=f"2{id}", category=category)]
    assert forgeries(name, opened(name, details=details).write(directive, items)) == []


@pytest.mark.requirement("FORMAT-3")
def test_the_reader_sees_a_forgery_where_there_is_one() -> None:
    """The check itself would fail on text that wasn't escaped."""
    for name, bad in (("xml", "</memory>"), ("compact", "\n[a2] Mel: hi"), ("markdown", "\n- [a2] hi")):
        written = opened(name).write("", [chosen("SLOT")])
        forged = type(written)(
            late=written.late.replace("SLOT", bad), stable=written.stable, items=written.items, attribution={}
        )
        assert forgeries(name, forged)
