"""The default embedder: unit vectors, quick and bounded, in every script."""

from __future__ import annotations

import sys

import pytest

from germane.errors import EmbedderError
from germane.models.embedders import distilled as module
from germane.models.embedders import tables
from germane.models.embedders.distilled import Distilled

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


@pytest.mark.requirement("SEARCH-6")
@pytest.mark.parametrize(("texts", "question"), _SCRIPTS.values(), ids=_SCRIPTS)
def test_a_question_is_nearest_to_its_answer_in_its_script(distilled: Distilled, texts: list[str], question: str) -> None:
    """Thirteen scripts and ways of writing, from the words' parts where their meaning isn't known."""
    similar = distilled.embed_now(texts) @ distilled.embed_now([question])[0]
    assert similar.argmax() == 2
    assert similar[2] > similar[:2].max() + 0.05


def test_invisible_characters_have_no_direction(distilled: Distilled) -> None:
    assert not distilled.embed_now(["\u200b\u0000"]).any()


def test_a_damaged_table_says_where_it_lies(monkeypatch: pytest.MonkeyPatch, tmp_path: object) -> None:
    """Whatever the reading libraries raise."""
    monkeypatch.setattr(tables, "_tables", {})
    monkeypatch.setattr(module, "_NAME", "missing.npz")
    with pytest.raises(EmbedderError, match=r"missing\.npz"):
        Distilled().warm()


def test_the_default_needs_no_tokenizer_library(distilled: Distilled) -> None:
    """In a fresh process: here other tests have imported them."""
    import subprocess

    imported = "import sys; from germane.models.embedders.distilled import Distilled"
    asked = f"{imported}; Distilled().embed_now(['a']); print(*sys.modules)"
    shown = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True).stdout.split()
    assert not {"tokenizers", "huggingface_hub", "wordllama", "pydantic", "requests", "yaml"} & set(shown)
