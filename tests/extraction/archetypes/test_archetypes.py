"""Archetypes: those that come with germane, those made in code and in TOML, and their strategies."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from germane import Germane, InvalidInput, UnknownName
from germane.extraction.archetypes.findings import Findings
from germane.extraction.archetypes.registry import BUILT_IN, CODING, Archetypes
from germane.extraction.archetypes.value import Archetype, ContextWeights
from germane_testing.builders import Hashed


@pytest.mark.requirement("GRAPH-5")
@pytest.mark.parametrize(
    ("name", "weights", "depth", "shares"),
    [
        ("coding", (0.3, 0.5, 0.2), 2, (20, 40, 20, 20)),
        ("support", (0.4, 0.4, 0.2), 1, (30, 35, 20, 15)),
        ("research", (0.2, 0.6, 0.2), 3, (10, 50, 20, 20)),
    ],
)
def test_three_archetypes_are_ready_to_use(
    name: str, weights: tuple[float, ...], depth: int, shares: tuple[float, ...]
) -> None:
    """Weights, depths and shares as required; the share of patterns comes from semantic search."""
    found = Archetypes().find(name)
    assert (found.weights.recency, found.weights.relevance, found.weights.salience) == weights
    assert found.depth == depth
    given = dict(found.shares)
    assert given["patterns"] > 0
    given["semantic"] += given.pop("patterns")
    assert tuple(given[one] for one in ("recent", "semantic", "entities", "relations")) == shares
    assert found.extractors


async def test_each_archetype_has_a_strategy_of_its_name(tmp_path: Path) -> None:
    """The linear form with its weights: salience takes the place of usefulness."""
    async with Germane.open(tmp_path / "a.db", embedder=Hashed(), warm=False) as germane:
        for archetype in BUILT_IN:
            weights = germane.strategies.find(archetype.name).weights
            assert (weights.recency, weights.relevance, weights.usefulness) == (
                archetype.weights.recency,
                archetype.weights.relevance,
                archetype.weights.salience,
            )
        mine = germane.archetypes.extend("coding", "mine", weights={"recency": 0.6, "relevance": 0.2})
        assert germane.strategies.find("mine").weights.recency == 0.6
        assert (mine.weights.salience, mine.extractors) == (0.2, CODING.extractors)
        context = await germane.agent("x").assemble([{"role": "user", "content": "hi"}], model="gpt-4o", strategy="mine")
        assert context.messages


def test_one_is_created_from_nothing_but_its_settings() -> None:
    """Without extractors, with the weights of coding; a name that is taken is refused."""
    known = Archetypes()
    made = known.create("games", extractors={"things": lambda *_: Findings()}, shares={"semantic": 45, "recent": 10})
    assert (known.find("games"), list(made.extractors)) == (made, ["things"])
    with pytest.raises(InvalidInput, match="exists"):
        known.create("games")


def test_a_change_is_merged_deeply() -> None:
    """Shares, half-lives and intents by name; extractors are added, replaced by a list of names, or removed by None."""
    known = Archetypes()
    changed = known.extend(
        "coding",
        "mine",
        half_lives={"deploy": 5},
        intents={"fix": ["deploy"]},
        extractors={"tests": None, "own": lambda *_: Findings()},
    )
    assert changed.half_lives["deploy"] == 5
    assert changed.half_lives["decision"] == CODING.half_lives["decision"]
    assert (changed.intents["fix"], changed.intents["action"]) == (("deploy",), CODING.intents["action"])
    assert changed.extractors.keys() == (CODING.extractors.keys() - {"tests"}) | {"own"}
    assert list(known.extend("mine", "less", extractors=["own", "files"]).extractors) == ["own", "files"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"shares": {"recent": 30}}, "sum to 100"),
        ({"shares": {"recnt": 20}}, "shares have no recnt"),
        ({"weights": {"recency": 0.9}}, "sum to 1"),
        ({"weights": {"recentness": 0.9}}, "weights take"),
        ({"weights": {"recency": float("nan")}}, "between 0 and 1"),
        ({"depth": 11}, "0 to 10"),
        ({"depth": True}, "0 to 10"),
        ({"half_lives": {"error": 0}}, "above 0"),
        ({"intents": {"fxi": ["error"]}}, "intents are"),
        ({"intents": {"fix": "error"}}, "list of strings"),
        ({"extractors": ["flies"]}, "no extractor 'flies': known are"),
        ({"extractors": {"own": 7}}, "must be functions"),
        ({"colour": "red"}, "no colour"),
        ({"entity_types": "file"}, "list of strings"),
        ({"like": "coding"}, "no like"),
    ],
)
def test_what_does_not_fit_is_refused_by_name(changes: dict[str, Any], said: str) -> None:
    """The message names the archetype and what is wrong; nothing is registered."""
    known = Archetypes()
    with pytest.raises(InvalidInput, match="'mine'") as raised:
        known.extend("coding", "mine", **changes)
    assert said in str(raised.value)
    with pytest.raises(UnknownName, match=r"use one of coding, research, support, or an Archetype"):
        known.find("mine")


async def test_archetypes_are_written_in_toml(tmp_path: Path) -> None:
    """`[archetypes.<name>]` tables, each like another one, in any order; `archetype` names the one in use."""
    settings = tmp_path / "settings.toml"
    settings.write_text(
        '[germane]\narchetype = "second"\n[archetypes.second]\nlike = "first"\ndepth = 1\n'
        '[archetypes.first]\nlike = "coding"\nextractors = ["files", "tickets"]\n[archetypes.first.half_lives]\ndeploy = 3\n'
        '[strategies.second]\nlike = "second"\ncap = 900\n',
        "utf-8",
    )
    async with Germane.open(tmp_path / "a.db", settings=settings, embedder=Hashed(), warm=False) as germane:
        second = germane.archetypes.find("second")
        assert (second.depth, list(second.extractors), second.half_lives["deploy"]) == (1, ["files", "tickets"], 3)
        assert germane.strategies.find("second").cap == 900
        done = await germane.agent("x").events.record("file_read", "a.py", session="s")
        assert [entity.name for entity in done.entities] == ["a.py"]


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ({"a": {"like": "b"}, "b": {"like": "a"}}, "each like another"),
        ({"a": {"like": "codng"}}, "use one of coding"),
        ({"a": {"depth": 99}}, "archetype 'a': depth"),
    ],
)
def test_tables_that_can_not_be_used_are_refused(written: dict[str, Any], said: str) -> None:
    """With the name of the table."""
    with pytest.raises(InvalidInput, match=said):
        Archetypes(written)


def test_only_an_archetype_can_be_registered() -> None:
    """Not a dict, and not one without a name."""
    with pytest.raises(InvalidInput, match="must be an Archetype"):
        Archetypes().register({"name": "x"})  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="name is blank"):
        Archetype(name=" ", weights=ContextWeights(recency=1, relevance=0, salience=0), shares={"recent": 100})
