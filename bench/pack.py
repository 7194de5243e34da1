"""Pack: time of packing and formatting alone, with the real token costs of formatted lines. Requirement: PACK-7.

    python -m bench pack [--runs 200] [--room 2000]

Generated messages in sessions of 30, probabilities distributed as after a search, o200k token counts, a new layout for each
run as for each assembly. `warm`: the tokenizer has the lines in its cache, as for items that are injected often; `cold`: the
cache is empty, so every line is counted. The figures are medians over the runs, all in one process.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from datetime import UTC
from gc import freeze
from math import log
from random import Random
from time import perf_counter

from bench.corpus import conversations
from bench.machine import describe
from bench.quantiles import quantile
from germane.api.strategies import COMPACT, VERBOSE
from germane.models.tokenizers import open_tokenizer
from germane.ports.models import Tokenizer
from germane.stages.pack.pack import pack
from germane.stages.write.formats import FORMATS, open_format
from germane.stages.write.layout import Format
from germane.text.normal import content_hash
from germane.types.candidate import Breakdown, Candidate, Chosen, Provenance, Scored

__all__ = ["main", "ranked"]

NONCE = "qhzvkdtwmbxr"
STRATEGIES = {"compact": COMPACT, "xml": VERBOSE}


def ranked(count: int, seed: int = 1) -> tuple[Scored, ...]:
    """That many messages in score order; what they are worth has nothing to do with when they were said."""
    chance = Random(seed)
    found: list[Scored] = []
    for number, (session, said) in enumerate(conversations(count, seed), 1):
        for at, message in enumerate(said):
            candidate = Candidate(
                id=f"0196b2c4-7d3a-7abc-8def-{len(found):012}",
                source="messages",
                category="conversation",
                text=message.text,
                created_at=message.created_at or said[0].created_at,  # type: ignore[arg-type]
                kinds=("event",),
                speaker=message.name or "",
                role=message.role,
                session=session,
                session_started_at=said[0].created_at,
                session_number=number,
                position=at,
                content_hash=content_hash(message.text),
                provenance=Provenance(message_id=message.id, session=session),
            )
            parts = Breakdown(relevance=0.5, recency=0.5, usefulness=0.5, confidence=0.8, frequency=0.0)
            score = chance.betavariate(0.3, 6.0) * 0.95 + 0.001
            found.append(Scored(candidate=candidate, score=score, log_odds=_logit(score), breakdown=parts))
    found.sort(key=lambda item: -item.score)
    return tuple(item._replace(rank=rank) for rank, item in enumerate(found, 1))


def _logit(probability: float) -> float:
    return log(probability / (1 - probability))


def opened(name: str, tokenizer: Tokenizer) -> Format:
    details = STRATEGIES[name].details
    return open_format(name, tokenizer=tokenizer, nonce=NONCE, zone=UTC, terms=("vase", "parcel"), details=details)


def timed(runs: int, work: Callable[[Format], object], name: str, tokenizer: Callable[[], Tokenizer]) -> str:
    """Median and p95 in milliseconds; the tokenizer and the layout are opened outside the time."""
    spent = []
    for _ in range(runs):
        layout = opened(name, tokenizer())
        began = perf_counter()
        work(layout)
        spent.append(1000 * (perf_counter() - began))
    return f"{quantile(spent, 50):8.2f} {quantile(spent, 95):8.2f}"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench pack", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--room", type=int, nargs="+", default=[1000, 2000, 8000], help="tokens there are to fill")
    options = parser.parse_args(arguments)
    print(describe())
    warm = open_tokenizer("o200k")
    warm.count("the vocabulary is read")

    def cold() -> Tokenizer:
        return open_tokenizer("o200k")

    def packing(items: Sequence[Scored], name: str, room: int) -> Callable[[Format], object]:
        return lambda layout: pack(items, (), available=room, layout=layout, strategy=STRATEGIES[name])

    print(f"\n{'ms':<10}{'candidates':>11}{'room':>7}{'':<9}{'warm p50':>8}{'p95':>9}{'cold p50':>9}{'p95':>9}")
    pools = {count: ranked(count) for count in (10_000, 70)}
    freeze()
    for count, items in pools.items():
        for name in sorted(FORMATS.keys() & STRATEGIES.keys()):
            for room in options.room:
                work = packing(items, name, room)
                work(opened(name, warm))
                spent = (timed(options.runs, work, name, each) for each in (lambda: warm, cold))
                print(f"{'pack':<10}{count:>11,}{room:>7}  {name:<7}{' '.join(spent)}", flush=True)
    some = [Chosen(scored=item, text=item.candidate.text, tokens=0) for item in pools[10_000][:50]]
    for name in sorted(FORMATS.keys() & STRATEGIES.keys()):
        written = timed(options.runs, lambda layout: layout.write("Be brief and kind.", some), name, lambda: warm)
        counted = timed(options.runs, lambda layout: layout.total("Be brief and kind.", some), name, cold)
        print(f"{'format 50':<10}{'':>18}  {name:<7}{written} {counted}   cold: and counted")


if __name__ == "__main__":
    main()
