"""Estimates, the caching tokenizer, and opening tokenizers by name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.errors import UnknownName
from germane.models.tokenizers import ENCODINGS, TOKENIZERS, UPPER, Bpe, Bytes, CachedTokenizer, Estimate, Upper, open_tokenizer
from support.examples import examples
from support.oracle import oracle

TEXTS = st.text(alphabet=st.characters(codec=None), max_size=80)


class Counting:
    """One token a character, and how often it was asked."""

    name, exact, asked = "chars", True, 0

    def count(self, text: str) -> int:
        self.asked += 1
        return len(text)

    def ceiling(self, text: str) -> int:
        return len(text)


@pytest.mark.requirement("BUD-2")
@pytest.mark.parametrize("family", sorted(UPPER))
def test_an_estimate_is_never_below_o200k_nor_above_its_ceiling(family: str) -> None:
    """o200k × a factor above 1, rounded up, within the bound from the size."""
    estimate = Estimate(Bpe("o200k"), UPPER[family])
    assert not estimate.exact

    @examples(60)
    @given(TEXTS)
    def between(text: str) -> None:
        assert oracle("o200k")(text) <= estimate.count(text) <= estimate.ceiling(text)

    between()


@pytest.mark.requirement("BUD-2")
@pytest.mark.parametrize(("family", "factor"), [("claude", 1.45), ("claude-4.8", 1.95)])
def test_the_measured_factors_hold_for_plain_english(family: str, factor: float) -> None:
    """Nothing is charged beside the factor where there is nothing but Latin letters."""
    text = "Prefers e-mail to phone calls, and tea to coffee. " * 20
    assert open_tokenizer(family).count(text) >= factor * oracle("o200k")(text)
    assert open_tokenizer(family).count(text) <= factor * oracle("o200k")(text) + 1


def test_other_scripts_and_figures_are_charged_where_they_cost_more() -> None:
    """wide for each character beyond ASCII, digit for each ASCII digit."""
    estimate = Estimate(Counting(), Upper(factor=1.0, wide=0.5, digit=0.25))
    assert estimate.count("ab") == 2
    assert estimate.count("日本") == 3
    assert estimate.count("1234") == 5


def test_the_sum_of_parts_is_never_below_the_rounded_whole() -> None:
    """Rounding up each part keeps sums safe."""
    estimate = Estimate(Counting(), Upper(factor=1.45))
    assert sum(estimate.count(part) for part in ("a", "bc", "def")) >= estimate.count("abcdef")


@pytest.mark.requirement("BUD-2")
def test_names_tell_exact_counts_from_estimates() -> None:
    """The name that appears in the trace says which was used."""
    assert open_tokenizer("o200k").name == "o200k"
    assert open_tokenizer("claude").name == "o200k×1.45 (estimate)"
    assert {name for name in TOKENIZERS if open_tokenizer(name).exact} == {"o200k", "cl100k", "llama3", "qwen3"}


def test_an_unknown_name_is_refused_with_the_choices() -> None:
    """The message names the value and says what to use."""
    with pytest.raises(UnknownName, match=r"'gpt9'.*cl100k.*unknown"):
        open_tokenizer("gpt9")


def test_without_any_vocabulary_bytes_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """No package, no failure: an upper bound that says it is an estimate."""
    monkeypatch.setattr(Bpe, "available", False)
    tokenizer = open_tokenizer("o200k")
    assert isinstance(tokenizer, Bytes)
    assert not tokenizer.exact
    assert tokenizer.count("é\ud800") == tokenizer.ceiling("é\ud800") == 5


@pytest.mark.requirement("BUD-2")
@pytest.mark.parametrize("text", ["short", "long " * 400, "\ud800" * 600])
def test_a_text_is_counted_once(text: str) -> None:
    """The cache is keyed by content: an equal text elsewhere is the same text."""
    base = Counting()
    cached = CachedTokenizer(base)
    assert cached.known(text) is None
    assert cached.count(text) == cached.count("".join(list(text))) == cached.known(text) == len(text)
    assert base.asked == 1


def test_the_cache_is_bounded_and_keeps_what_is_used() -> None:
    """It never holds more than two generations; what is asked for again survives."""
    base = Counting()
    cached = CachedTokenizer(base, entries=10)
    cached.count("kept")
    for i in range(200):
        cached.count(f"text {i}")
        cached.count("kept")
        assert len(cached) <= 20
    assert base.asked == 201


def test_the_cache_is_bounded_by_characters_too() -> None:
    """Long keys end a generation early."""
    cached = CachedTokenizer(Counting(), chars=1000)
    for i in range(100):
        cached.count(f"{i:0100}")
        assert len(cached) <= 22


@pytest.mark.requirement("BUD-2")
@pytest.mark.parametrize("encoding", ["llama3", "qwen3"])
@pytest.mark.parametrize(
    "text",
    [
        "Yesterday we went to the market. ",
        "Gestern gingen wir auf den Markt und kauften viel Gemüse. ",
        "9081 77 123456789 2026-11-22 ",
        "गुरुवार को हम बाज़ार गए थे। ",
        "გუშინ ჩვენ წავედით ბაზარში და ვიყიდეთ ბევრი ბოსტნეული. ",
        "நேற்று நாங்கள் சந்தைக்குச் சென்றோம். ",
        "မနေ့က ကျွန်ုပ်တို့ ဈေးသို့သွားခဲ့သည် ",
        "昨天我们去了市场。",
        "Երեկ մենք գնացինք շուկա ",
        "def f(x: int) -> str:\n    return str(x)\n",
    ],
)
def test_without_its_vocabulary_an_encoding_is_never_counted_too_low(
    monkeypatch: pytest.MonkeyPatch, encoding: str, text: str
) -> None:
    """Where the extra `tokens` isn't installed, the base of OpenAI's is."""
    exact = oracle(encoding)(text * 5)
    monkeypatch.setattr("germane.models.tokenizers.ENCODINGS", {**ENCODINGS, encoding: ()})
    tokenizer = open_tokenizer(encoding)
    assert not tokenizer.exact
    assert tokenizer.count(text * 5) >= exact
