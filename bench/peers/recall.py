"""Recall: the share of a question's evidence that fits into a budget when a peer's hits are packed in their order.

For germane, recall is also measured with the context that it assembles itself."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from math import sqrt
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from bench.peers.labelled import Labelled
from bench.peers.made import write
from bench.peers.pack import packed
from bench.peers.process import Process
from germane.models.tokenizers import open_tokenizer

__all__ = ["HITS", "measure", "summary"]

BUDGETS = (500, 1_000)
HITS = 60
"""Hits requested of every peer: more than fit into 1,000 tokens."""

Told = Callable[[str], None]
Shares = dict[int, list[float]]


def measure(process: Process, conversations: Sequence[Labelled], vectors: Path, told: Told) -> dict[str, Any]:
    """Measures each conversation in its own store. Returns figures for the hits, and for germane's context under `context`."""
    ours = process.row.ours
    hits: Shares = defaultdict(list)
    contexts: Shares = defaultdict(list)
    kinds: dict[str, list[float]] = defaultdict(list)
    short = 0
    for conversation in conversations:
        costs = _costs(conversation)
        with tempfile.TemporaryDirectory() as folder:
            process.ask("open", folder=folder, vectors=str(vectors))
            if ours:
                process.ask("clock", at=conversation.asked.isoformat())
            memories = write(conversation.memories, Path(folder) / "memories.jsonl")
            process.ask("load", memories=str(memories), within=1_200)
            queries = [question.text for question in conversation.questions]
            found = process.ask("search", queries=queries, limit=HITS, within=1_200)["found"]
            for question, ranked in zip(conversation.questions, found, strict=True):
                for budget in BUDGETS:
                    share = len(question.evidence & set(packed(ranked, costs, budget))) / len(question.evidence)
                    hits[budget].append(share)
                kinds[question.category].append(share)
                short += sum(costs[id] for id in ranked) < BUDGETS[-1]
            if ours:
                for budget in BUDGETS:
                    written = process.ask("assemble", queries=queries, tokens=budget, within=1_200)["shares"]
                    for question, shares in zip(conversation.questions, written, strict=True):
                        seen = sum(share for id, share in shares if id in question.evidence)
                        contexts[budget].append(seen / len(question.evidence))
            process.ask("close")
        told(f"recall: {len(hits[1000])} questions")
    figures = {**summary(hits), "too_few_hits": short, "by_category": {kind: 100 * mean(of) for kind, of in kinds.items()}}
    return {**figures, "context": summary(contexts)} if ours else figures


def summary(shares: Mapping[int, Sequence[float]]) -> dict[str, Any]:
    """Percent, with the standard error over all questions."""
    most = shares[1_000]
    return {
        "questions": len(most),
        "all_in_1000": 100 * mean(share > 0.999 for share in most),
        **{f"in_{budget}": 100 * mean(shares[budget]) for budget in BUDGETS},
        **{f"error_{budget}": 100 * stdev(shares[budget]) / sqrt(len(most)) for budget in BUDGETS},
    }


def _costs(conversation: Labelled) -> dict[str, int]:
    count = open_tokenizer("o200k").count
    return {one.id: count(one.line + "\n") for one in conversation.memories}
