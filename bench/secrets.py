"""Secrets: how many seeded secrets are recognised, what is taken for one and isn't, and what the search costs.

    python -m bench secrets [DATA …] [--count 1000] [--half report]

Secrets are made from their published forms and put into texts (`bench/seeded.py`). One is caught where nothing of it is left
in the redacted text. False alarms are counted in texts that only look like secrets, and in the conversations of DATA (the
folders and files that `germane eval` reads), by kind; their content is never printed.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from bench.machine import describe
from bench.seeded import HALVES, harmless, seeds
from germane.search.unit import analyse_parts
from germane.text.secrets.detection import find_secrets, redacted
from germane_eval.formats import load

__all__ = ["caught", "main"]

_LEFT = 8
"""Characters of a longer secret that must not be left."""


def caught(text: str, secret: str) -> bool:
    """Whether nothing of the secret is left: no piece of eight characters, of a shorter secret not the whole."""
    left = redacted(text, find_secrets(text))
    body = "".join(line for line in secret.splitlines() if not line.startswith("-----")) or secret
    pieces = {body[at : at + _LEFT] for at in range(len(body) - _LEFT + 1)} or {body}
    return not any(piece in left and left.count(piece) > text.replace(secret, "").count(piece) for piece in pieces)


def _recall(half: str, count: int, seed: int) -> None:
    made = seeds(half, count, seed)
    missed = Counter(one.kind for one in made if not caught(one.text, one.secret))
    total = Counter(one.kind for one in made)
    right = len(made) - missed.total()
    print(f"\n{half}: {right} of {len(made)} caught ({100 * right / len(made):.2f} %), {len(total)} kinds")
    for kind, count_missed in missed.items():
        print(f"  missed {count_missed} of {total[kind]}: {kind}")


def _false_alarms(texts: Iterable[tuple[str, str]], what: str) -> None:
    alarms, count, characters, spent, analysis = Counter[str](), 0, 0, 0.0, 0.0
    for _, text in texts:
        began = time.process_time()
        found = find_secrets(text)
        spent += time.process_time() - began
        began = time.process_time()
        analyse_parts(text)
        analysis += time.process_time() - began
        alarms.update(one.kind for one in found)
        count += 1
        characters += len(text)
    kinds = ", ".join(f"{number} {kind}" for kind, number in alarms.most_common()) or "none"
    print(
        f"{what}: {count:,} texts, {characters:,} characters: {alarms.total()} found ({kinds}); "
        f"{1e6 * spent / count:.1f} µs a text, {1e9 * spent / characters:.0f} ns a character (analysis for search: "
        f"{1e9 * analysis / characters:.0f})",
        flush=True,
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench secrets", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", nargs="*", type=Path)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--half", choices=HALVES, help="default: both")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    print(describe())
    for half in HALVES if options.half is None else (options.half,):
        _recall(half, options.count, options.seed)
    print()
    _false_alarms(harmless(options.count, options.seed), "texts that only look like secrets")
    for path in options.data:
        talks = [session for one in load(path).conversations for session in one.sessions.values()]
        _false_alarms([("", message.content) for talk in talks for message in talk], path.name)


if __name__ == "__main__":
    main()
