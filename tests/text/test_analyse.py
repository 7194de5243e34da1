"""The analyser gives stored texts and queries the same stems."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.text import terms as analyser
from germane.text.terms import analyse, hashed, query_terms, term_hash
from support.examples import examples

ANY_TEXT = st.text(st.characters(), max_size=200)


def found(question: str, text: str) -> set[str]:
    """The words of a question that the index of a text answers to."""
    index = set(analyse(text))
    return {term.word for term in query_terms(question) if index.intersection(term.stems)}


@pytest.mark.requirement("SEARCH-2")
@pytest.mark.parametrize(
    ("question", "text", "words"),
    [
        ("Where did Caroline's friends go hiking?", "My friend Caroline went on a hike", {"caroline", "friends", "hiking"}),
        ("我的猫叫什么名字?", "我昨天养了一只猫,名字是小白", {"猫", "名字"}),
        ("自転車はどこですか", "新しい自転車を買いました", {"自転", "転車"}),
        ("ชอบกินอะไร", "ฉันชอบกินผัดไทย", {"กิ", "ชอ"}),
        ("학교 친구", "학교에서 친구를 만났어요", {"학교", "친구"}),
        ("أين الكتاب؟", "اشتريت كتابا جديدا", {"الكتاب"}),
        ("मेरी बहन कहाँ रहती है?", "बहनें दिल्ली में रहते हैं", {"बहन", "रहती"}),
        ("Где мои книги?", "Я купил новую книгу о кошках", {"книги"}),
        ("Wo spielten die Kinder im Garten?", "Das Kind hat in den Gärten gespielt und der Vater war da", {"kinder", "garten"}),
        ("¿Dónde están las canciones?", "Me gusta mucho la canción de ayer", {"canciones"}),
        ("Quels chevaux sont dans le pré ?", "Nous avons un cheval et des vaches", {"chevaux"}),
        ("Πού είναι οι γάτες;", "Η γάτα μου είναι εδώ", {"γατεσ"}),
    ],
)
def test_a_question_finds_what_was_said_in_its_own_script(question: str, text: str, words: set[str]) -> None:
    """Text and query share stems in every script."""
    assert words <= found(question, text)


@pytest.mark.requirement("SEARCH-2")
def test_a_question_in_english_finds_a_name_in_another_language() -> None:
    """Names are looked for under the stems other languages give them."""
    assert "maria" in found("Where does María live?", "María vive en la casa de los abuelos")


@pytest.mark.requirement("SEARCH-2")
@pytest.mark.parametrize("spelling", ["café", "cafe\u0301", "CAFÉ", "ｃａｆｅ", "cafe", "caf\u00ade"])
def test_spellings_of_one_word_are_one_term(spelling: str) -> None:
    """Unicode folding: composition, case, width, accents and soft hyphens make no difference."""
    assert analyse(f"the {spelling}") == ["cafe"]


@pytest.mark.parametrize(
    ("text", "stems"),
    [
        ("parse_config", ["parse_config", "pars", "config"]),
        ("JavaScript", ["javascript", "java", "script"]),
        ("HTTPServer", ["httpserver", "http", "server"]),
        ("src/auth/login.py", ["src/auth/login.py", "src", "auth", "login", "py"]),
        ("e-mail", ["email", "e", "mail"]),
        ("Caroline's", ["carolin"]),
        ("O’Brien", ["obrien"]),
        ("don't I'm we’ve", []),
        ("the 7th of 2023-05-07 at 10:30", ["7", "2023-05-07", "2023", "10:30"]),
        ("C++ and C#", ["c++", "c#"]),
        ("done...next", ["next"]),
        ("什么", []),
        ("猫", ["猫"]),
    ],
)
def test_tokens_come_apart_the_way_people_search_for_them(text: str, stems: list[str]) -> None:
    """Identifiers stay whole and in parts; contractions and possessives leave nothing behind."""
    assert analyse(text) == stems


def test_function_words_are_no_terms_and_words_of_content_are() -> None:
    """Questions keep what they are about."""
    words = [term.word for term in query_terms("What did Caroline do in the first week of May?")]
    assert words == ["caroline", "first", "week", "may"]


def test_terms_are_distinct_and_in_the_order_of_the_text() -> None:
    """A word asked twice counts once."""
    assert [term.word for term in query_terms("pottery, bowls and more Pottery")] == ["pottery", "bowls", "more"]


@given(text=ANY_TEXT)
@examples(200)
def test_every_stem_of_a_text_is_found_by_asking_the_text_itself(text: str) -> None:
    """SEARCH-2: one analyser for both sides, whatever the text, lone surrogates included."""
    asked = {stem for term in query_terms(text) for stem in term.stems}
    assert set(analyse(text)) <= asked


@given(text=ANY_TEXT)
@examples(200)
def test_any_stem_has_a_hash_of_32_bits(text: str) -> None:
    """What the index holds fits an unsigned 32-bit column."""
    assert all(0 <= term_hash(stem) < 2**32 for stem in (*analyse(text), text))


def test_one_huge_word_is_cut_and_one_huge_pile_of_marks_too() -> None:
    """Neither length nor stacked accents make a term grow without bounds."""
    stems = analyse("a" * 200_000 + " " + "e" + "\u0301\u0316" * 100_000)
    assert stems
    assert all(len(stem) <= 64 for stem in stems)


@given(
    st.lists(
        st.sampled_from(
            ["C++", "it's", "foo_bar", "/a/b.py", "x", "Paint's", "JavaScript", "--", "3rd", "(see", "a@b.c,", "q" * 70]
        )
    )
)
def test_what_stands_between_spaces_is_analysed_by_itself(chunks: list[str]) -> None:
    """So that it can be looked up: a text gives what its chunks give, one after another."""
    text = f"the {' '.join(chunks)}"
    assert analyse(text) == [stem for chunk in chunks for stem in analyse(f"the {chunk}")]
    assert hashed(text) == b"".join(term_hash(stem).to_bytes(4, "little") for stem in analyse(text))


def test_no_long_word_is_remembered() -> None:
    """What is kept of one is its first 64 characters: a cache of 65,536 whole ones would hold gigabytes."""
    analyse("é" + "x" * 100_000)
    query_terms("ö" + "x" * 100_000)
    before = kept_words()
    analyse("é" + "x" * 100_000 + "y")
    assert kept_words() == before


def kept_words() -> int:
    return analyser._stem_or_none.cache_info().currsize
