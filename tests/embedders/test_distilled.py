"""The default embedder: unit vectors, quick and bounded, in every script."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from germane.embedders import distilled as module
from germane.embedders.distilled import Distilled
from germane.errors import EmbedderError

_SCRIPTS = {
    "Arabic": (
        ["تعيش أختي في القاهرة.", "مرض الكلب.", "سنسافر إلى البرتغال في يوليو."],
        "متى السفر إلى البرتغال؟",
    ),
    "Chinese": (
        ["我姐姐住在上海。", "狗生病了。", "我们七月飞往葡萄牙。"],
        "什么时候飞葡萄牙？",
    ),
    "Cyrillic": (
        ["Моя сестра живёт в Москве.", "Собака заболела.", "В июле мы летим в Португалию."],
        "Когда в Португалию?",
    ),
    "Devanagari": (
        ["मेरी बहन दिल्ली में रहती है।", "कुत्ता बीमार हो गया।", "हम जुलाई में पुर्तगाल जा रहे हैं।"],
        "पुर्तगाल कब जा रहे हैं?",
    ),
    "Georgian": (
        ["ჩემი და თბილისში ცხოვრობს.", "ძაღლი ავად გახდა.", "ივლისში პორტუგალიაში მივფრინავთ."],
        "როდის პორტუგალიაში?",
    ),
    "Greek": (
        ["Η αδερφή μου μένει στην Αθήνα.", "Ο σκύλος αρρώστησε.", "Τον Ιούλιο πετάμε στην Πορτογαλία."],
        "Πότε για Πορτογαλία;",
    ),
    "Hebrew": (
        ["אחותי גרה בתל אביב.", "הכלב חלה.", "ביולי אנחנו טסים לפורטוגל."],
        "מתי הטיסה לפורטוגל?",
    ),
    "Japanese": (
        ["姉は大阪に住んでいます。", "犬が病気になりました。", "七月にポルトガルへ行きます。"],
        "いつポルトガルに行く？",
    ),
    "Korean": (
        ["우리 언니는 부산에 살아요.", "개가 아파요.", "우리는 칠월에 포르투갈로 가요."],
        "언제 포르투갈에 가?",
    ),
    "Latin": (
        ["My sister lives in Leeds.", "The dog fell ill.", "We fly to Portugal in July."],
        "When is the journey to Lisbon?",
    ),
    "Latin with accents": (
        ["Ma sœur habite à Liège.", "Le chien est malade.", "Nous partons à Málaga en été."],
        "MALAGA?",
    ),
    "Tamil": (
        ["என் சகோதரி சென்னையில் வசிக்கிறார்.", "நாய்க்கு உடல்நிலை சரியில்லை.", "ஜூலையில் போர்ச்சுகலுக்குப் பறக்கிறோம்."],
        "போர்ச்சுகலுக்கு எப்போது?",
    ),
    "Thai": (
        ["พี่สาวของฉันอาศัยอยู่ที่กรุงเทพ", "สุนัขป่วย", "เราจะบินไปโปรตุเกสในเดือนกรกฎาคม"],
        "บินไปโปรตุเกสเมื่อไร",
    ),
}


@pytest.fixture(scope="module")
def distilled() -> Distilled:
    embedder = Distilled()
    embedder.warm()
    return embedder


@settings(max_examples=100, deadline=None)
@given(texts=st.lists(st.text(max_size=30), max_size=8))
def test_every_vector_has_unit_length_or_is_zero(distilled: Distilled, texts: list[str]) -> None:
    """Whatever is written in them, lone surrogates included."""
    vectors = distilled.embed_now(texts)
    assert vectors.shape == (len(texts), 256)
    assert vectors.dtype == np.float32
    lengths = np.linalg.norm(vectors, axis=1)
    assert np.all(np.isclose(lengths, 1, atol=1e-5) | (lengths == 0))


def test_a_texts_vector_does_not_depend_on_its_batch(distilled: Distilled) -> None:
    """What a store holds and what a question is compared with are the same numbers."""
    texts = ["the dog is ill", "", "собака 犬", "word " * 3_000]
    together = distilled.embed_now(texts)
    assert all(np.array_equal(row, distilled.embed_now([text])[0]) for row, text in zip(together, texts, strict=True))


@pytest.mark.requirement("SEARCH-6")
@pytest.mark.parametrize(("texts", "question"), _SCRIPTS.values(), ids=_SCRIPTS)
def test_a_question_is_nearest_to_its_answer_in_its_script(distilled: Distilled, texts: list[str], question: str) -> None:
    """Thirteen scripts and ways of writing, from the words' parts where their meaning isn't known."""
    similar = distilled.embed_now(texts) @ distilled.embed_now([question])[0]
    assert similar.argmax() == 2
    assert similar[2] > similar[:2].max() + 0.05


def test_words_of_similar_meaning_are_nearer_than_others(distilled: Distilled) -> None:
    """What keywords alone can't know."""
    cat, kitten, revenue = distilled.embed_now(["my cat is ill", "the kitten got sick", "quarterly revenue forecast"])
    assert cat @ kitten > cat @ revenue + 0.3


def test_blank_texts_have_no_direction(distilled: Distilled) -> None:
    assert not distilled.embed_now(["", "  \n\t", "\u200b\u0000"]).any()


def test_of_a_huge_text_only_head_and_tail_are_read(distilled: Distilled) -> None:
    """The time for one message is bounded."""
    head, tail = "dog " * 2_000, " cat" * 500
    one, other = distilled.embed_now([head + "x " * 500_000 + tail, head + "y " * 500_000 + tail])
    assert np.array_equal(one, other)


async def test_closing_releases_the_table_and_the_next_text_loads_it() -> None:
    embedder = Distilled()
    before = await embedder.embed(["a dog"])
    await embedder.close()
    assert embedder._table is None
    assert np.array_equal(await embedder.embed(["a dog"]), before)


def test_it_names_its_space(distilled: Distilled) -> None:
    """A store's vectors are compared with no others."""
    assert (distilled.identity, distilled.dimension, distilled.quick) == ("distilled/minilm-1/256", 256, True)


def test_a_damaged_table_says_where_it_lies(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    """Whatever the reading libraries raise."""
    monkeypatch.setattr(module, "_NAME", "missing.npz")
    with pytest.raises(EmbedderError, match=r"missing\.npz"):
        Distilled().warm()


def test_the_default_needs_no_tokenizer_library(distilled: Distilled) -> None:
    """In a fresh process: here other tests have imported them."""
    import subprocess

    asked = "import sys; from germane.embedders.distilled import Distilled; Distilled().embed_now(['a']); print(*sys.modules)"
    shown = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True).stdout.split()
    assert not {"tokenizers", "huggingface_hub", "wordllama", "pydantic", "requests", "yaml"} & set(shown)
