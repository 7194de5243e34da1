"""A relevance model of one's own: named in code, in the settings or in the environment; search and scoring use the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from germane import Germane, InvalidInput, Settings
from germane.api.strategies import DEFAULT
from germane.search.relevance import Relevance
from germane_eval.fit.fitting import BESIDES, load_tables, model_toml, shipped_tables
from germane_testing.builders import MOMENT, Hashed


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """Everything is twenty-nine in thirty likely, and the shorter the likelier."""
    tables = {name: {"intercept": 4.0, "length": -1.0} for name in shipped_tables() if name not in BESIDES}
    path = tmp_path / "mine.toml"
    path.write_text(model_toml(tables, {"data": ["made up"]}, MOMENT), "utf-8")
    return path


async def first(germane: Germane) -> tuple[str, float]:
    """The best of two for a query, and its relevance."""
    agent = germane.agent()
    await agent.remember("A kayak")
    await agent.remember("A blue kayak for two that lies in the garden behind the house all winter long")
    best = (await agent.search("blue kayak garden"))[0]
    return best.candidate.text, best.breakdown.relevance


@pytest.mark.requirement("SCORE-2")
async def test_a_model_that_is_given_is_the_one_that_counts(model: Path) -> None:
    """As a path or as a value; without one, the shipped one."""
    for given in (model, str(model), Relevance.parse({**shipped_tables(), **_tables(model)})):
        async with Germane.open(":memory:", embedder=Hashed(), relevance=given) as germane:
            text, likely = await first(germane)
            assert (text, likely > 0.9) == ("A kayak", True)
    async with Germane.open(":memory:", embedder=Hashed()) as germane:
        assert "blue" in (await first(germane))[0]


async def test_search_chooses_by_it_too(model: Path) -> None:
    """At a limit of one the store itself must have chosen the short one."""
    narrow = replace(DEFAULT, sources=tuple(replace(plan, limit=1) for plan in DEFAULT.sources))
    async with Germane.open(":memory:", embedder=Hashed(), relevance=model) as germane:
        await first(germane)
        (best,) = await germane.agent().search("blue kayak garden", strategy=narrow)
        assert best.candidate.text == "A kayak"
        other = germane.agent("other")
        said = ["A kayak", "A blue kayak for two that lies in the garden behind the house all winter long"]
        await other.record([{"role": "user", "content": text} for text in said], session="s")
        (best,) = await other.search("blue kayak garden", strategy=narrow)
        assert best.candidate.text == "A kayak"


async def test_settings_name_it_beside_themselves_and_the_environment_from_here(model: Path, tmp_path: Path) -> None:
    """A relative path in a file is meant from where the file is."""
    file = tmp_path / "settings.toml"
    file.write_text('[germane]\nrelevance = "mine.toml"\n', "utf-8")
    assert Settings.load(file).relevance == model
    assert Settings.load(file, {"GERMANE_RELEVANCE": "other.toml"}).relevance == Path("other.toml")
    async with Germane.open(":memory:", embedder=Hashed(), settings=file) as germane:
        assert (await first(germane))[0] == "A kayak"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "can't be read"),
        ("[people", "not TOML"),
        ("[people]\nown = 1.0\n", "people_lexical"),
        ('[people]\nown = "much"\n[people_lexical]\n[assistant]\n[assistant_lexical]\n', "numbers"),
        ("people = 3\npeople_lexical = 3\nassistant = 3\nassistant_lexical = 3\n", "numbers"),
    ],
)
async def test_a_file_that_is_no_model_is_refused_by_name(tmp_path: Path, content: str | None, said: str) -> None:
    """Before anything is opened."""
    path = tmp_path / "odd.toml"
    if content is not None:
        path.write_text(content, "utf-8")
    with pytest.raises(InvalidInput, match=said) as raised:
        async with Germane.open(tmp_path / "a.db", embedder=Hashed(), relevance=path):
            pass
    assert "odd.toml" in str(raised.value)
    assert not (tmp_path / "a.db").exists()


def test_what_is_neither_is_refused() -> None:
    with pytest.raises(InvalidInput, match="relevance must be"):
        Germane.open(":memory:", relevance=3)  # type: ignore[arg-type]


def _tables(path: Path) -> dict[str, dict[str, float]]:
    return {name: dict(table) for name, table in load_tables(path).items()}
