"""Personal: whether a request is about the user's own affairs, in many languages and in linear time."""

from __future__ import annotations

import pytest
from bench.readers import READERS

from germane.stages.read.asks import is_personal
from germane.stages.read.query import read
from support.scoped_stores import request

pytestmark = pytest.mark.requirement("NEED-1")
PERSONAL = {
    "English": "What is my greyhound called?",
    "German": "Wie heißt mein Windhund?",
    "French": "Comment s'appelle mon lévrier ?",
    "Spanish": "¿Cómo se llama mi galgo?",
    "Italian": "Come si chiama la mia levriera?",
    "Portuguese": "Como se chama o meu galgo?",
    "Dutch": "Hoe heet mijn windhond?",
    "Swedish": "Vad heter min hund?",
    "Polish": "Jak nazywa się mój chart?",
    "Russian": "Как зовут моего пса?",
    "Turkish": "Benim köpeğimin adı ne?",
    "Chinese": "我的灰狗叫什么名字？",
    "Japanese": "私の犬の名前は？",
    "Korean": "우리 강아지 이름이 뭐야?",
}
OTHERS = {
    "English": ["How do I sort a list in Python?", "Tell me a joke", "hi", "What is the capital of Peru?", ""],
    "German": ["Wie sortiere ich eine Liste?"],
    "French": ["Comment trier une liste en Python ?"],
    "Spanish": ["¿Cuál es la capital de Perú?"],
    "Italian": ["Qual è la capitale del Perù?"],
    "Portuguese": ["Qual é a capital do Peru?"],
    "Dutch": ["Wat is de hoofdstad van Peru?"],
    "Swedish": ["Vad är huvudstaden i Peru?"],
    "Polish": ["Jaka jest stolica Peru?"],
    "Russian": ["Какая столица Перу?"],
    "Turkish": ["Peru'nun başkenti neresi?"],
    "Chinese": ["秘鲁的首都是哪里？"],
    "Japanese": ["ペルーの首都はどこですか"],
    "Korean": ["페루의 수도는 어디야?"],
}


@pytest.mark.parametrize("language", PERSONAL)
def test_a_possessive_makes_a_request_personal_and_a_general_question_has_none(language: str) -> None:
    """Whatever the case."""
    assert is_personal(PERSONAL[language])
    assert is_personal(PERSONAL[language].upper())
    assert not [text for text in OTHERS[language] if is_personal(text)]


@pytest.mark.parametrize(
    "text", ["What did I tell you about Rome?", "Remember the trip?", "Book the usual.", "Where does she live?", "as we agreed"]
)
def test_words_about_what_was_said_or_about_somebody_known_do_too(text: str) -> None:
    assert is_personal(text)


@pytest.mark.parametrize("text", ["myth", "The army marched", "mission", "remembrance day", "have it, had it, did it"])
def test_only_whole_words_count(text: str) -> None:
    assert not is_personal(text)


def test_the_query_says_so_of_the_request() -> None:
    """From the question's own words."""
    assert read(request("What is my greyhound called?")).personal
    assert not read(request("What is a greyhound?")).personal


def test_it_is_measured_to_take_linear_time() -> None:
    """By `bench/linear.py`, on long runs of one character too."""
    assert "stages.read.asks.is_personal" in READERS
    assert not is_personal("a" * 1_000_000)
    assert not is_personal("did " * 250_000)
