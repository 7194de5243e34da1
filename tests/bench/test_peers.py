"""Side by side with peers: what of it is arithmetic, without any peer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bench.peers.adapters.embedder import DIMENSION, Embedder
from bench.peers.adapters.memory import read
from bench.peers.made import made, write
from bench.peers.pack import packed
from bench.peers.page import BEGIN, END, replaced
from bench.peers.peer import ROWS, find
from bench.peers.recall import summary
from bench.peers.results import Results
from bench.peers.table import markdown, tables
from bench.peers.targets import targets
from hypothesis import given
from hypothesis import strategies as st

REQUIREMENTS = Path(__file__).parents[2] / "bench" / "peers" / "requirements"


def test_what_fits_is_packed_in_rank_order_and_what_does_not_is_skipped() -> None:
    """A long hit costs its own place, not that of the ones after it."""
    assert packed(["a", "b", "c"], {"a": 4, "b": 9, "c": 3}, 7) == ["a", "c"]


def test_what_was_found_twice_is_paid_for_once() -> None:
    """Peers that answer with copies lose nothing by it."""
    assert packed(["a", "a", "b"], {"a": 4, "b": 3}, 7) == ["a", "b"]


@given(st.lists(st.integers(1, 60), max_size=30), st.integers(0, 400))
def test_what_is_packed_never_costs_more_than_the_budget(costs: list[int], budget: int) -> None:
    """Nor does it hold an id twice, however often it was found."""
    known = {str(number): cost for number, cost in enumerate(costs)}
    chosen = packed([*known, *known], known, budget)
    assert sum(known[id] for id in chosen) <= budget
    assert len(chosen) == len(set(chosen))


def test_all_of_it_counts_only_questions_whose_every_message_is_there() -> None:
    """A share of .5 adds to the mean, not to that."""
    figures = summary({500: [0.0, 0.5, 1.0], 1_000: [0.5, 1.0, 1.0]})
    assert (round(figures["in_500"]), round(figures["in_1000"]), round(figures["all_in_1000"])) == (50, 83, 67)


def test_memories_come_back_from_their_file_as_they_were(tmp_path: Path) -> None:
    """Driver and adapter share nothing but the file."""
    memories = list(made(40))
    assert read(write(memories, tmp_path / "m.jsonl")) == memories
    assert len({one.id for one in memories}) == 40


def test_a_known_text_is_not_embedded_again(tmp_path: Path) -> None:
    """The corpus is embedded once for all peers."""
    embedder, asked = counting()
    embedder.use(tmp_path / "v.npz")
    first = embedder.vector("a vase")
    embedder.use(tmp_path / "v.npz")
    assert np.array_equal(embedder.vector("a vase"), first)
    assert asked == ["a vase"]


def test_without_a_file_every_text_is_embedded() -> None:
    """What is measured is live."""
    embedder, asked = counting()
    embedder.vector("a vase")
    embedder.vector("a vase")
    assert len(asked) == 2


def test_a_made_text_is_the_sum_of_its_words(tmp_path: Path) -> None:
    """Of unit length; words that aren't known add nothing."""
    embedder, asked = counting()
    embedder.use(tmp_path / "w.npz")
    blue, vase = embedder.vector("blue"), embedder.vector("vase")
    embedder.use(tmp_path / "w.npz", summed=True)
    found = embedder.vector("Blue vase, 1987!")
    assert np.allclose(found, (blue + vase) / np.linalg.norm(blue + vase), atol=1e-6)
    assert asked == ["blue", "vase"]


def test_results_measured_again_replace_only_their_part(tmp_path: Path) -> None:
    """A run of one part leaves the others, also those of a run beside it."""
    path = tmp_path / "results.json"
    early = Results(path)
    Results(path).put("chroma", "recall", {"in_500": 1.0})
    Results(path).put("chroma", "ingest", {"by_1": 2.0})
    early.put("chroma", "recall", {"in_500": 3.0})
    assert Results(path).rows == {"chroma": {"recall": {"in_500": 3.0}, "ingest": {"by_1": 2.0}}}


def test_a_target_is_met_against_the_best_peer_that_embeds() -> None:
    """A peer without vectors and germane itself don't count as peers."""
    rows = {
        "germane": {"recall": shares(80.0), "search": p95(20.0), "ingest": {"by_30": 1_000.0, "by_1": 300.0}},
        "chroma": {"recall": shares(60.0), "search": p95(300.0), "ingest": {"by_30": 50.0, "by_1": 50.0}},
        "engram": {"recall": shares(69.0), "search": p95(25.0), "ingest": {"by_30": 90.0, "by_1": 20.0}},
        "fts5": {"recall": shares(99.0), "search": p95(1.0), "ingest": {"by_30": 9e9, "by_1": 9e9}},
    }
    said = targets(rows)
    assert "80.0 against 69.0 (engram-search, its store): +11.0 | **not met**" in said
    assert "20.0 ms against 25.0 (engram-search, its store) | met" in said
    assert "of all others | met" in said
    assert "1,000/s against 90 (engram-search, its store): 11 times | met" in said
    assert "300/s against 50 (Chroma, a collection a user): 6 times | **not met**" in said


def test_a_peer_nearly_as_fast_is_named() -> None:
    """A third of every other: those that aren't three times slower stand in the line."""
    rows = {"germane": {"search": p95(20.0)}, "chroma": {"search": p95(50.0)}, "engram": {"search": p95(25.0)}}
    assert "not of Chroma, a collection a user (50.0) | **not met**" in targets(rows)


def test_what_was_not_measured_stands_as_a_dash() -> None:
    """A peer that can't hold so many says so instead of a figure."""
    said = tables({"mem0": {"search": {"10000": {"p50_ms": 1.0, "p95_ms": 2.0, "p99_ms": 3.0}, "100000": {"failed": "late"}}}})
    assert "| mem0, as installed | 1.0 / 2.0 / 3.0 | not done | – | – | – |" in said


def test_a_table_without_rows_is_nothing() -> None:
    """No heads above an empty space."""
    assert markdown(("a",), []) == ""


def test_a_page_keeps_what_stands_around_its_tables() -> None:
    """Old tables go, everything else stays."""
    page = f"# Peers\n{BEGIN}\nold\n{END}\nafter\n"
    assert replaced(page, "| new |") == f"# Peers\n{BEGIN}\n\n| new |\n\n{END}\nafter\n"
    with pytest.raises(ValueError, match="no <!-- measured: begin -->"):
        replaced("# Peers", "| new |")


def test_an_unknown_peer_is_told_with_the_names_there_are() -> None:
    """The error says what to write."""
    with pytest.raises(ValueError, match="no peer is called chrome: choose from germane"):
        find(["chroma", "chrome"])


def test_every_peer_has_pinned_requirements_and_an_adapter() -> None:
    """Another day's environments are the same."""
    adapters = REQUIREMENTS.parent / "adapters"
    for row in ROWS:
        assert (adapters / f"{row.adapter}.py").exists()
        if not row.ours:
            lines = (REQUIREMENTS / f"{row.environment}.txt").read_text("utf-8").splitlines()
            assert all("==" in line for line in lines), row.environment


def shares(percent: float) -> dict[str, Any]:
    figures = {"in_500": percent, "in_1000": percent, "all_in_1000": percent}
    return {**figures, "context": figures}


def p95(milliseconds: float) -> dict[str, Any]:
    return {"100000": {"p50_ms": 1.0, "p95_ms": milliseconds, "p99_ms": 99.0}}


def counting() -> tuple[Embedder, list[str]]:
    """An embedder whose network is a made-up vector a text, and what it was asked."""
    asked: list[str] = []

    class Counting(Embedder):
        def _live(self, text: str) -> Any:
            asked.append(text)
            vector = np.random.default_rng(len(text) + sum(map(ord, text))).normal(size=DIMENSION).astype(np.float32)
            return vector / np.linalg.norm(vector)

    return Counting(Path("none"), Path("none")), asked
