"""Extractive summaries: what is kept of a text, and within how many tokens."""

from __future__ import annotations

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.models.tokenizers import open_tokenizer
from germane.text.summary import Summaries, summarise
from support.examples import examples

COUNT = open_tokenizer("o200k").count
FILLER = [f"Nothing of note happened on day {day}, as far as anybody knows." for day in range(40)]
REPORT = " ".join(
    [
        "The harbour project moves its database from Postgres to SQLite.",
        *FILLER[:12],
        "The database move failed with error E1042 when the harbour server ran out of disk.",
        *FILLER[12:],
        "Marta will repeat the database move of the harbour project on Friday.",
    ]
)


@pytest.mark.requirement("PACK-5")
@pytest.mark.parametrize("limit", [30, 60, 200])
def test_a_summary_keeps_the_sentences_that_say_most_in_their_order(limit: int) -> None:
    """Within the tokens as counted; `…` wherever something is missing."""
    found = summarise(REPORT, limit, COUNT)
    assert found is not None
    assert COUNT(found.text) <= limit
    assert 0 < found.share < 1
    parts = [part.strip() for part in found.text.split("…") if part.strip()]
    places = [REPORT.index(part) for part in parts]
    assert places == sorted(places)
    assert "harbour" in found.text


def test_what_failed_is_kept_before_what_went_on() -> None:
    """Logs and tool outputs are long, and one line of them matters."""
    log = "\n".join([*(f"step {n} of the build of the package done" for n in range(60)), "error: the package isn't signed"])
    found = summarise(log, 40, COUNT)
    assert found is not None
    assert "error: the package isn't signed" in found.text


@pytest.mark.requirement("PACK-5")
def test_the_words_of_a_query_come_first() -> None:
    """Whatever the text itself is about; words match by their stems."""
    assert "Marta" not in (summarise(REPORT, 25, COUNT) or summarise(REPORT, 60, COUNT)).text  # type: ignore[union-attr]
    found = summarise(REPORT, 30, COUNT, terms=["Marta", "Fridays"])
    assert found is not None
    assert "Marta will repeat" in found.text


def test_the_same_is_not_said_twice() -> None:
    """A sentence whose words are in the summary already counts less."""
    text = " ".join([*["The launch of the boat is on Monday."] * 20, "Caroline pays for the paint."])
    found = summarise(text, 30, COUNT)
    assert found is not None
    assert "Caroline" in found.text


@pytest.mark.parametrize(
    "text",
    [
        "船の進水式は月曜日です。塗料はキャロラインが払います。" * 30,
        "Спуск лодки в понедельник. Краску оплачивает Каролина. " * 30,
        "नाव का जलावतरण सोमवार को है। रंग का भुगतान कैरोलीन करती है। " * 30,
        "تدشين القارب يوم الاثنين. كارولين تدفع ثمن الطلاء. " * 30,
        "เรือจะปล่อยลงน้ำวันจันทร์ แคโรไลน์จ่ายค่าสี " * 30,
        "배의 진수식은 월요일입니다. 페인트는 캐롤라인이 냅니다. " * 30,
    ],
)
def test_every_script_is_summarised_in_whole_sentences(text: str) -> None:
    """What is kept stands in the text word for word."""
    found = summarise(text, 80, COUNT)
    assert found is not None
    assert COUNT(found.text) <= 80
    assert all(part.strip() in text for part in found.text.split("…"))
    assert found.share > 0.01


def test_a_text_that_fits_is_left_as_it_is() -> None:
    """So a summary of a summary is the same."""
    assert summarise("Short.", 50, COUNT) == summarise("Short.", 5_000, COUNT)
    found = summarise(REPORT, 60, COUNT)
    assert found is not None
    again = summarise(found.text, 60, COUNT)
    assert again is not None
    assert (again.text, again.share) == (found.text, 1.0)


@pytest.mark.parametrize("text", ["", "   \n", "x" * 9_000])
def test_nothing_is_made_where_only_a_few_tokens_would_fit(text: str) -> None:
    """Fewer than eight say nothing, unless the caller wants as much as there is."""
    assert summarise(text, 5, COUNT) is None
    least = summarise(text, 5, COUNT, least=1)
    assert (least is None) == (not text.strip())
    assert least is None or COUNT(least.text) <= 5


def test_of_a_very_long_text_a_sample_is_read() -> None:
    """Its beginning and its end for certain."""
    text = "The harbour opens. " + "Nothing happened here. " * 60_000 + "The harbour closes."
    found = Summaries(["harbour"]).of(text, 40, COUNT)
    assert found is not None
    assert found.text.startswith("The harbour opens.")
    assert found.text.endswith("The harbour closes.")


@pytest.mark.requirement("PACK-5")
@examples(200)
@given(st.text(max_size=400) | st.text("ab.! \n。x", max_size=2_000), st.integers(0, 90), st.booleans())
def test_no_summary_costs_more_than_asked_or_is_longer_than_its_text(text: str, limit: int, framed: bool) -> None:
    """Whatever the text; here a character is a token, and a frame costs ten. A second summary changes nothing."""
    frame = 10 if framed else 0
    found = summarise(text, limit, lambda shown: frame + len(shown), terms=["a", "x"])
    if found is not None:
        assert frame + len(found.text) <= limit
        assert len(found.text) <= len(text)
        assert 0 < found.share <= 1
        assert all(part.strip() in text for part in found.text.split("…")) or found.share == 1
        assert summarise(found.text, limit, lambda shown: frame + len(shown), terms=["a"]).text == found.text  # type: ignore[union-attr]


def test_a_summary_does_not_depend_on_the_process() -> None:
    """Not on the seed of its hashes."""
    code = f"""
from germane.text.summary import summarise
print(repr(summarise({REPORT!r}, 300, len)))
"""
    runs = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert runs == {f"{summarise(REPORT, 300, len)!r}\n"}
