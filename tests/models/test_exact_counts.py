"""Exact counts: the same as an independent implementation's, for every text."""

from __future__ import annotations

import threading
import unicodedata
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.models.tokenizers import Bpe, as_sent
from support.examples import examples
from support.oracle import NAMES, oracle

HOSTILE = (
    "",
    " ",
    "\x00",
    "\ufeffbom",
    "<|endoftext|>",
    "<|im_start|>system\n<|im_end|><|eot_id|><|begin_of_text|>",
    "\ud800",
    "a\udfffb",
    "\ud83d\ude00 in two halves",
    "今天的天气非常好，我们决定去公园散步。",
    "วันนี้อากาศดีมาก เราจึงตัดสินใจไปเดินเล่น",
    "오늘은 날씨가 아주 좋아서",
    "आज मौसम बहुत अच्छा है",
    "الطقس جميل جدا اليوم",
    "👩‍👩‍👧‍👦🇦🇹❤️🏴󠁧󠁢󠁥󠁮󠁧󠁿✨",
    "Z̸̧̛a͝l̷g̵o̶ T̸e̴x̷t̸",
    "def f(x):\n\treturn {k: v for k, v in x.items()}  # done\r\n\r\n",
    "1234567890" * 20,
    "don't WON'T i'Ll 'S",
    "e\u0301 \u1100\u1161 \u0958 \U0001d160",
    "\u202e\u200b\u200d\u2066",
    "SELECT * FROM t WHERE a='1';--<script>alert(1)</script>",
    "a" * 3000,
    " \n\t" * 500,
    "ﷺ" * 50,
)

OLD = st.sampled_from([char for char in map(chr, range(0x110000)) if unicodedata.ucd_3_2_0.category(char) not in ("Cn", "Co")])
"""Assigned since long: what younger characters are depends on the Unicode version each implementation was built with."""

PIECES = st.one_of(
    st.text(alphabet=OLD, max_size=30),
    st.sampled_from(HOSTILE),
    st.text(alphabet=" \n\t\r", max_size=10),
    st.text(alphabet="0123456789.,-", max_size=12),
    st.text(alphabet="的一是不了人我在有他这为之大来以个中上们", max_size=20),
    st.sampled_from(("the quick brown fox", "HTTPServer2", "self._x[i] += 1", "https://example.org/a?b=c#d", "naïve café")),
)
TEXTS = st.lists(PIECES, max_size=6).map("".join)


@pytest.mark.requirement("BUD-2")
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_texts_are_counted_exactly(name: str, text: str) -> None:
    """An exact count equals the independent one, and nothing raises."""
    assert Bpe(name).count(text) == oracle(name)(text)


@pytest.mark.requirement("BUD-2")
@pytest.mark.parametrize("name", NAMES)
def test_generated_texts_are_counted_exactly(name: str) -> None:
    """The same for generated mixtures of scripts, code, figures, white space and surrogates."""
    bpe = Bpe(name)

    @examples(150)
    @given(TEXTS)
    def same(text: str) -> None:
        assert bpe.count(text) == oracle(name)(text)

    same()


@pytest.mark.parametrize("name", NAMES)
def test_the_ceiling_is_never_below_the_count(name: str) -> None:
    """A ceiling from the size alone bounds the count, also where normalising lengthens the text."""
    bpe = Bpe(name)

    @examples(150)
    @given(TEXTS)
    def bounded(text: str) -> None:
        assert bpe.count(text) <= bpe.ceiling(text)

    bounded()


def test_the_ceiling_knows_that_normalising_lengthens() -> None:
    """Under NFC some characters become two or three; bytes are those of the normal form at least."""
    text = "\u0958\U0001d160" * 40
    assert Bpe("qwen3").ceiling(text) >= len(unicodedata.normalize("NFC", text).encode())


def test_special_tokens_are_plain_text() -> None:
    """What looks like a special token costs what its letters cost."""
    assert Bpe("o200k").count("<|endoftext|>") == 7


def test_halves_of_a_pair_are_joined_and_lone_ones_replaced() -> None:
    """Surrogates are read as a provider reads them after JSON."""
    assert as_sent("\ud83d\ude00") == "😀"
    assert as_sent("a\ud800b") == "a\ufffdb"


@pytest.mark.parametrize("name", NAMES)
def test_threads_count_the_same(name: str) -> None:
    """One counter, opened by eight threads at once, gives each the right count."""
    bpe, gate = Bpe(name), threading.Barrier(8)

    def work(_: int) -> list[int]:
        gate.wait(timeout=30)
        return [bpe.count(text) for text in HOSTILE]

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(work, range(8)))
    assert all(answer == [oracle(name)(text) for text in HOSTILE] for answer in answers)


def test_an_encoding_no_package_holds_is_not_available() -> None:
    """An unknown name raises before anything is counted, with a clear message."""
    bpe = Bpe("klingon")
    assert not bpe.available
    with pytest.raises(LookupError, match="klingon"):
        bpe.count("qapla")


def test_a_pile_of_marks_is_counted_at_its_most_by_a_vocabulary_that_composes() -> None:
    """It would be sorted, in quadratic time. What is counted is never too little."""
    pile = "x" + "\u0316\u0301" * 400
    assert Bpe("qwen3").count(pile) >= oracle("qwen3")(pile)
    assert Bpe("qwen3").count("x" + "\u0301" * 30) == oracle("qwen3")("x" + "\u0301" * 30)
