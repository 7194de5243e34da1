"""The costs that packing asks the layout for."""

from __future__ import annotations

import random
from datetime import UTC

import pytest

from germane.errors import UnknownName
from germane.stages.pack.greedy import Layout
from germane.stages.write.formats import open_format
from germane.types.candidate import Chosen
from support.oracle import oracle
from support.rendering import chosen, o200k, opened

NAMES = ["xml", "compact", "markdown"]


def several(seed: int, count: int = 25) -> list[Chosen]:
    chance = random.Random(seed)
    texts = (
        "I'm at <home> & fine",
        "日本語のテキスト",
        '👩‍👧 said: "hi"\nthere',
        "def f(x):\n    return x < 3",
        "plain words " * 9,
    )
    categories = ("conversation", "conversation", "factual", "episodic", "odd one")
    return [
        chosen(
            f"{chance.choice(texts)} {number}",
            chance.random(),
            category=chance.choice(categories),
            session=chance.choice("ab"),
            session_number=chance.choice((1, 2, None)),
            speaker=chance.choice(("Mel", "Åsa", "")),
        )
        for number in range(count)
    ]


@pytest.mark.requirement("BUD-4")
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("directive", ["", "Be kind.", "Do this:\n- 日本語\n- <rule/>"])
def test_the_total_is_what_another_tokenizer_counts(name: str, directive: str) -> None:
    """In one text and in two, whichever is more."""
    count = oracle("o200k")
    for seed in range(5):
        items = several(seed)
        form = opened(name)
        written = form.write(directive, items)
        assert form.total(directive, items) == max(count(written.text), count(written.stable) + count(written.late))


@pytest.mark.requirement("PACK-1", "BUD-4")
@pytest.mark.parametrize("name", NAMES)
def test_single_costs_add_up_to_nearly_the_total(name: str) -> None:
    """They steer: a few tokens off over all, never far below."""
    for seed in range(10):
        form, items, open_groups = opened(name), several(seed), set[str]()
        sum_of_costs = form.fixed("Be kind.")
        for item in items:
            sum_of_costs += form.cost(item.scored.candidate, item.text)
            if form.group(item.scored.candidate) not in open_groups:
                sum_of_costs += form.header(item.scored.candidate)
            open_groups.add(form.group(item.scored.candidate))
        total = form.total("Be kind.", items)
        assert total - 4 <= sum_of_costs <= total + len(items) + 6


@pytest.mark.parametrize("name", NAMES)
def test_it_is_what_packing_asks_for(name: str) -> None:
    """`pack/cost.py` states it."""
    layout: Layout = opened(name)
    item = chosen("x").scored.candidate
    assert layout.header(item) > 0


@pytest.mark.requirement("ENGINE-8")
@pytest.mark.parametrize("name", NAMES)
def test_the_order_items_come_in_changes_nothing(name: str) -> None:
    """The same set is the same bytes."""
    items = several(3)
    mixed = items[::-1]
    assert opened(name).write("x", items).text == opened(name).write("x", mixed).text


@pytest.mark.requirement("FORMAT-6", "INJECT-8")
@pytest.mark.parametrize("name", NAMES)
def test_the_number_in_a_handle_is_the_items_place(name: str) -> None:
    """Counted from 1 over all items, so that a list of ids in rendered order resolves it; the letter is the kind's."""
    written = opened(name).write("Be kind.", several(5))
    kinds = ["a" if item.category == "conversation" else "m" for item in written.items]
    assert [item.handle for item in written.items] == [f"{kind}{number}" for number, kind in enumerate(kinds, 1)]
    assert list(written.attribution.items()) == [(item.handle, item.id) for item in written.items]
    assert len(set(kinds)) == 2


@pytest.mark.requirement("FORMAT-3")
@pytest.mark.parametrize("name", NAMES)
def test_what_is_stored_stays_verbatim(name: str) -> None:
    """Escapes are in what is written only."""
    item = chosen("<b>\u200b'x'</b>")
    written = opened(name).write("", [item])
    assert written.items[0].text == "<b>\u200b'x'</b>"
    assert "<b>" not in written.text


def test_what_is_huge_is_costed_by_its_size() -> None:
    """It is not worth the time to count what will hardly fit."""
    item = chosen("word " * 20_000)
    assert opened("compact").cost(item.scored.candidate, item.text) >= 100_000


def test_an_unknown_format_is_named_with_what_there_is() -> None:
    """The error says what to do."""
    with pytest.raises(UnknownName, match="format 'yaml' is unknown: use one of compact, digest, markdown, xml"):
        open_format("yaml", tokenizer=o200k(), nonce="n", zone=UTC, terms=())
