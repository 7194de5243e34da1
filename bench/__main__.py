"""The figures of the docs, by name: `python -m bench <name> [options]`; without a name, the quick ones one after another.

latency        one assembly, warm and cold, by store size
load           requests at a rate, many at once, between recordings
client         how long its callers wait while the service hangs, is killed, comes back
service        over the wire: at work, overloaded, and while its store fails
ingest         messages a second
budget         the budget invariant over generated cases
forgery        forged delimiters over hostile contents
crowd DATA     probabilities in stores of many sizes
tuning DATA    the floor and the weight of recency
pack           packing and formatting by themselves
packers DATA   items chosen together against one by one
observing      what logs, metrics and spans cost a call
forgetting     how long it takes in a large store, and what others feel of it
kills          what is left in the files when a process is killed while it forgets
leftover       tasks, threads, files and memory after 10,000 time-outs
soak           budget and forgery over 100,000 cases each, leftover, and kills
peers …        side by side with what users would pick instead
evaluated …    what `germane eval DATA --json FILE` saved, as the tables of the docs
"""

from __future__ import annotations

import sys

from bench import (
    budget,
    client,
    crowd,
    evaluated,
    forgery,
    forgetting,
    ingest,
    keyword,
    kills,
    latency,
    leftover,
    load,
    observing,
    pack,
    packers,
    service,
    tuning,
)


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
        case "peers":
            from bench.peers.__main__ import main as peers

            return peers(rest)
        case "ingest":
            ingest.main(rest)
        case "budget":
            return budget.main(rest)
        case "forgery":
            return forgery.main(rest)
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
            return (
                budget.main(["--count", "100000", *rest])
                or forgery.main(["--count", "100000", *rest])
                or leftover.main([])
                or kills.main([])
            )
        case "all":
            ingest.main(rest)
            latency.main(["--sizes", "1000", "10000", *rest])
        case _:
            print(__doc__)
            return 0 if name in ("-h", "--help") else 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
