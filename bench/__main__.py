"""The figures of the docs, by name: `python -m bench <name> [options]`; without a name, the quick ones one after another.

latency        one assembly, warm and cold, by store size
load           requests at a rate, many at once, between recordings
client         how long its callers wait while the service hangs, is killed, comes back
service        over the wire: at work, overloaded, and while its store fails
port           the service under attack by somebody without a key
giant          what one stored text of a million characters costs other callers
neighbour      what one org's worst behaviour costs another, over the wire
ingest         messages a second
budget         the budget invariant over generated cases
linear         processor time of every function that sees text, by the length of the text
forgery        forged delimiters over hostile contents
crowd DATA     probabilities in stores of many sizes
tuning DATA    the floor and the weight of recency
pack           packing and formatting by themselves
packers DATA   items chosen together against one by one
observing      what logs, metrics and spans cost a call
forgetting     how long it takes in a large store, and what others feel of it
kills          what is left in the files when a process is killed while it forgets
leftover       tasks, threads, files and memory after 10,000 time-outs
soak           the long runs one after another: budget, forgery, linear, leftover, kills, giant, port, neighbour
golden …       messages and traces of 300 assemblies, to compare before and after a refactoring
peers …        side by side with what users would pick instead
evaluated …    what `germane eval DATA --json FILE` saved, as the tables of the docs
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence

from bench import (
    budget,
    client,
    crowd,
    evaluated,
    forgery,
    forgetting,
    giant,
    golden,
    ingest,
    keyword,
    kills,
    latency,
    leftover,
    linear,
    load,
    neighbour,
    observing,
    pack,
    packers,
    port,
    service,
    tuning,
)

_LONG: Mapping[str, Callable[[], int]] = {
    "budget": lambda: budget.main(["--count", "100000"]),
    "forgery": lambda: forgery.main(["--count", "100000"]),
    "linear": lambda: linear.main([]),
    "leftover": lambda: leftover.main([]),
    "kills": lambda: kills.main([]),
    "giant": lambda: giant.main([]),
    "port": lambda: port.main([]),
    "neighbour": lambda: neighbour.main([]),
}


def _soak(names: Sequence[str]) -> int:
    """All of them, or those named; each is run, whatever came of the others."""
    if strangers := [name for name in names if name not in _LONG]:
        print(f"soak: no run is called {strangers[0]}: they are {', '.join(_LONG)}")
        return 2
    failed = []
    for name in names or _LONG:
        print(f"\n== {name}", flush=True)
        if _LONG[name]():
            failed.append(name)
    print(f"\nsoak: {', '.join(failed) or 'nothing'} failed")
    return int(bool(failed))


def main() -> int:
    name, *rest = sys.argv[1:] or ["all"]
    match name:
        case "latency":
            latency.main(rest)
        case "forgetting":
            forgetting.main(rest)
        case "kills":
            return kills.main(rest)
        case "leftover":
            return leftover.main(rest)
        case "load":
            load.main(rest)
        case "observing":
            observing.main(rest)
        case "service":
            service.main(rest)
        case "client":
            client.main(rest)
        case "port":
            return port.main(rest)
        case "peers":
            from bench.peers.__main__ import main as peers

            return peers(rest)
        case "ingest":
            ingest.main(rest)
        case "budget":
            return budget.main(rest)
        case "forgery":
            return forgery.main(rest)
        case "golden":
            golden.main(rest)
        case "giant":
            return giant.main(rest)
        case "neighbour":
            return neighbour.main(rest)
        case "linear":
            return linear.main(rest)
        case "evaluated":
            evaluated.main(rest)
        case "pack":
            pack.main(rest)
        case "packers":
            packers.main(rest)
        case "keyword":
            keyword.main(rest)
        case "crowd":
            crowd.main(rest)
        case "tuning":
            tuning.main(rest)
        case "soak":
            return _soak(rest)
        case "all":
            ingest.main(rest)
            latency.main(["--sizes", "1000", "10000", *rest])
        case _:
            print(__doc__)
            return 0 if name in ("-h", "--help") else 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
