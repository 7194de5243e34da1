"""Endings: what a person says to have ended, in many languages, and what only sounds like it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from germane.extraction.memories.endings import Ending, find_endings

SAID = {
    "states": (
        ("I no longer row on Sundays.", "row"),
        ("We don't rent the garage anymore", "garage"),
        ("I’m not on nights any more, thank goodness", "nights"),
        ("dont do crossfit anymore lol", "crossfit"),
        ("It wasn't the gluten after all.", "gluten"),
        ("turns out its not lactose", "lactose"),
        ("Ich trinke keinen Kaffee mehr.", "kaffee"),
        ("Wir wohnen nicht mehr in Erfurt", "erfurt"),
        ("Es war doch nicht die Milch.", "milch"),
        ("Je ne mange plus de viande", "viande"),
        ("Ya no tomo el autobús", "autobus"),
        ("Al final no era alergia", "alergia"),
        ("Non suono più il violino", "violino"),
        ("Já não moro em Braga", "braga"),
        ("Ik drink geen koffie meer", "koffie"),
        ("Nie jem już mięsa", "miesa"),
        ("Я больше не курю сигареты", "сигареты"),
        ("Artık kahve içmiyorum", "kahve"),
        ("我不再学钢琴", "钢琴"),
        ("もうコーヒーは飲みません", "飲み"),
    ),
    "acts": (
        ("I quit the orchestra", "orchestra"),
        ("oh and I've jacked in the pottery class", "pottery"),
        ("I've packed rowing in", "rowing"),
        ("btw i gave up on sourdough", "sourdough"),
        ("We cancelled the Netflix subscription.", "netflix"),
        ("Ich habe den Tanzkurs abgebrochen", "tanzkurs"),
        ("J'ai arrêté le judo", "judo"),
        ("He dejado el gimnasio", "gimnasio"),
        ("Ho smesso di fumare", "fumare"),
        ("Larguei a natação", "natacao"),
        ("Ik ben gestopt met hardlopen", "hardlopen"),
        ("Zrezygnowałam z siłowni", "silowni"),
        ("Я бросил шахматы", "шахматы"),
        ("我退了健身房的卡", "健身"),
    ),
    "resumed": (
        ("You can use bullet points again.", "bullet"),
        ("I can eat nuts again!", "nuts"),
        ("Du darfst wieder Emojis verwenden", "emojis"),
        ("Puedes usar emojis de nuevo", "emojis"),
        ("Tu peux de nouveau utiliser des tableaux", "tableaux"),
        ("又可以吃海鲜了", "海鲜"),
    ),
    "lifted": (
        ("You don't need to add page numbers anymore.", "page"),
        ("Stop rhyming your answers.", "rhyming"),
        ("can you stop with the riddles at the start", "riddles"),
        ("Du musst mir keine Quellen mehr nennen", "quellen"),
        ("Ya no hace falta que traduzcas los títulos", "titulos"),
        ("不用每次都翻译了", "翻译"),
    ),
    "dropped": (
        ("ignore that rule about tabs", "tabs"),
        ("and you can forget the thing where you quote prices in francs", "francs"),
        ("Vergiss die Regel mit den Fußnoten", "fussnoten"),
        ("Oublie la règle sur les majuscules", "majuscules"),
        ("Olvida la regla de las tablas", "tablas"),
    ),
}


def strong(text: str) -> list[Ending]:
    return [ending for ending in find_endings(text) if ending.kind != "changed"]


@pytest.mark.requirement("PERSON-4")
@pytest.mark.parametrize(("kind", "text", "word"), [(kind, *said) for kind, cases in SAID.items() for said in cases])
def test_an_ending_is_found_with_what_it_ends(kind: str, text: str, word: str) -> None:
    """Its kind, and the words of the object."""
    found = [(one.kind, term.word) for one in strong(text) if one.own for term in one.terms]
    assert any(name == kind and said.startswith(word) for name, said in found), found


@pytest.mark.requirement("PERSON-4")
@pytest.mark.parametrize(
    "text",
    [
        "we ran out of milk after all",
        "I love the milk",
        "If I no longer row, what then?",
        "Do I still row, or no longer?",
        "I wish I could quit the orchestra",
        "> I no longer row on Sundays",
        'He wrote: "I no longer row on Sundays"',
        "Vielleicht trinke ich keinen Kaffee mehr",
        "Si ya no tomo el autobús, avisa",
    ],
)
def test_what_only_sounds_like_an_ending_is_none(text: str) -> None:
    """Wishes, questions, conditions and other people's words end nothing."""
    assert not strong(text)


@pytest.mark.requirement("PERSON-4")
@pytest.mark.parametrize(
    "text", ["he quit his job", "my boss quit the orchestra", "Sie trinkt keinen Kaffee mehr", "elle a arrêté le judo"]
)
def test_what_others_end_is_not_the_persons_own(text: str) -> None:
    """Whoever else quit, the person didn't."""
    assert not [one for one in strong(text) if one.own]


@given(st.text(max_size=300))
def test_any_text_is_read(text: str) -> None:
    """No text makes the reader fail."""
    assert len(find_endings(text)) <= 8


@pytest.mark.parametrize("run", ["not ", "no longer ", "n't", "'", "不", "もう", "a", "stop ", ", ", "ne plus "])
def test_long_runs_are_read_in_linear_steps(run: str) -> None:
    """A message is read up to a bound, and a clause up to 80 words, whatever it repeats."""
    assert len(find_endings(run * 30_000)) <= 8
