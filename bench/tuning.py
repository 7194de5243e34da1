"""Tuning: recall by relevance floor (SCORE-5) and recency weight (SCORE-1), asked one hour after the end and today.

    python -m bench tuning ../shared/data/locomo-dev ../shared/data/beam-100k-dev --cache lists.npz

The packer is replaced by a quick approximation (`packages/eval/src/germane_eval/fit/candidates.py`) that knows costs but no
texts; `germane eval` decides. The other priors (usefulness, confidence, frequency) can't be tuned here, since no message of a
data set carries feedback or a confidence of its own.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from germane_eval.fit.candidates import Candidates, evidence_code, load_candidates, pack_candidates, rescore, save_candidates
from germane_eval.fit.collect import collect_candidates
from germane_eval.fit.fitting import ModelColumns, load_tables, shipped_tables
from germane_eval.formats import load

__all__ = ["main"]

_BUDGETS = (250, 500, 1000, 2000, 4000)
_DAY = 86400.0


def _lists(options: argparse.Namespace) -> list[Candidates]:
    origin = {"data": [str(path) for path in options.data], "embedder": options.embedder, "code": evidence_code()}
    known = load_candidates(options.cache, origin) if options.cache else None
    if known is not None:
        return known
    found = [one for path in options.data for one in asyncio.run(collect_candidates(load(path), embedder=options.embedder))]
    if options.cache:
        save_candidates(options.cache, found, origin)
    return found


def _measured(lists: Sequence[Candidates], odds: Sequence[NDArray[np.float64]]) -> str:
    """Recall at each budget, then the tokens used at the largest budget."""
    rows = [[pack_candidates(one, found, budget) for budget in _BUDGETS] for one, found in zip(lists, odds, strict=True)]
    shares = 100 * np.mean([[each.share for each in row] for row in rows], axis=0)
    return "".join(f"{share:>8.1f}" for share in shares) + f"{np.mean([row[-1].tokens for row in rows]):>10,.0f}"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench tuning", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path, nargs="+")
    parser.add_argument("--embedder", default="distilled")
    parser.add_argument("--model", type=Path, help="coefficients; the shipped ones by default")
    parser.add_argument("--cache", type=Path, help="keep the evidence in this .npz file, and read it the next time")
    parser.add_argument(
        "--floors", type=float, nargs="+", default=[0, 0.0001, 0.0002, 0.0003, 0.0005, 0.001, 0.002, 0.005, 0.02]
    )
    parser.add_argument("--recency", type=float, nargs="+", default=[0, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0, 2.0])
    parser.add_argument("--half-lives", type=float, nargs="+", default=[1, 30, 180], help="days")
    options = parser.parse_args(arguments)
    relevance = ModelColumns(
        shipped_tables(options.embedder) if options.model is None else load_tables(options.model)
    ).relevance
    everything = _lists(options)
    head = "".join(f"{f'r{budget}':>8}" for budget in _BUDGETS) + f"{'tokens':>10}"
    for name in dict.fromkeys(one.dataset for one in everything):
        lists = [one for one in everything if one.dataset == name]
        odds = [relevance.log_odds(rescore(one, relevance).table) for one in lists]
        print(f"\n{name}: {len(lists)} questions\n{'floor':>16}{head}")
        for floor in options.floors:
            least = np.log(floor / (1 - floor)) if floor else -np.inf
            print(f"{floor:>16g}{_measured(lists, [np.where(one < least, -np.inf, one) for one in odds])}", flush=True)
        for clock, now in (("end+1h", None), ("today", datetime.now(UTC).timestamp())):
            print(f"{clock:<8}{'recency':>8}{head}")
            for days in options.half_lives if clock == "end+1h" else options.half_lives[-1:]:
                for weight in options.recency:
                    moved = [
                        found + weight * (0.5 ** (np.maximum((now or one.at) - one.created, 0) / (days * _DAY)) - 0.5)
                        for one, found in zip(lists, odds, strict=True)
                    ]
                    print(f"{f'{days:g} days':>8}{weight:>8g}{_measured(lists, moved)}", flush=True)


if __name__ == "__main__":
    main()
