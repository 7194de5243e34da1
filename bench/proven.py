"""Proven: the exact packer against brute force, on small random cases with headers and caps.

    python -m bench proven --count 100000

Each case has up to nine items in up to three groups. The packer says "proven" with a gap of 0; then no set of items that fits
may be worth more. Prints the first wrong case and ends with 1. Requirement: PACK-6.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from random import Random

import numpy as np

from germane.stages.pack.knapsack import Knapsack, solve

__all__ = ["best_of_all", "case", "main"]


def best_of_all(full: Knapsack) -> float:
    """The highest value of all sets of items that fit, by trying each set."""
    count, groups = len(full.values), full.headers.shape[1]
    taken = (np.arange(2**count)[:, None] >> np.arange(count)) & 1
    opened = np.stack([taken[:, full.group == number].any(axis=1) for number in range(groups)], axis=1)
    used = taken @ full.uses.T + opened @ full.headers.T
    return float((taken @ full.values)[(used <= full.room).all(axis=1)].max())


def case(random: Random) -> Knapsack:
    """One random case: values of few steps, so that ties are common; the first limit is tokens, the others are caps."""
    count, groups, caps = random.randint(1, 9), random.randint(1, 3), random.randint(0, 2)
    steps = random.choice((4, 100, 10_000))
    return Knapsack(
        values=np.array([random.randint(0, steps) / steps for _ in range(count)]),
        uses=np.array(
            [
                [random.randint(0, 40) for _ in range(count)],
                *([random.randint(0, 3) for _ in range(count)] for _ in range(caps)),
            ]
        ),
        group=np.array([random.randrange(groups) for _ in range(count)]),
        headers=np.array(
            [
                [random.randint(0, 15) for _ in range(groups)],
                *([random.randint(0, 1) for _ in range(groups)] for _ in range(caps)),
            ]
        ),
        room=np.array([random.randint(0, 120), *(random.randint(0, 8) for _ in range(caps))]),
    )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench proven", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    random, proven = Random(options.seed), 0
    for number in range(options.count):
        full = case(random)
        found, best = solve(full), best_of_all(full)
        proven += found.gap == 0
        if found.value > best + 1e-8 or found.value + found.gap < best - 1e-8:
            print(f"case {number}: packed {found.value}, gap {found.gap}, but {best} fits: {full}")
            return 1
    print(f"{options.count:,} cases, {proven:,} proven, none wrong")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
