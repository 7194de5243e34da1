"""Main: runs one benchmark, `python -m bench <name> [options]`; without a name it runs the quick ones in turn.

latency        time of one assembly, warm and cold, by store size
answers DATA   processor time over real conversations, and how much of what is found is read
turns          a turn of a conversation, with many users in memory and deep in a long session
others         what forgetting, lists and an export cost among many users, and assemblies with many sessions
load           open loop at a rate, bursts, and recording between requests
burst          many calls at once, by deadline; after a restart; at ten times the load
client         how long callers wait while the service hangs, is killed, restarts
doors          one assembly in the library, over gRPC, over HTTP
proxy          what the way through the proxy costs, what is late when germane fails, how much of a prefix stays
hooks          what hooks add to a prompt in a coding agent, and the memory of the local service
service        over gRPC: normal work, overload, and a failing store
port           the service under attack by a client without an API key
giant          delay for other callers by one stored text of a million characters
neighbour      delay for one org while another org attacks, over gRPC
ingest         recorded messages per second
opening        time of a new process until a store is open, and of a store command
outlining [DATA …]  processor time that the lines of outlines add to recording
budget         the budget invariant over generated cases
digest         the budgets of the memory digest over generated stores
minilm         time of a query's vector and of a search with MiniLM
linear         whether CPU time of every function that reads text or a list is linear in its length
memory_tool    whether a path leaves /memories, and whether an edit of two conversations on one file is lost
binding        sessions of a model that binds its thinking, with faults: calls that it would refuse, and nothing said so
blocks         memory blocks: editors, rewrites and renderings at random; time and stored size
graph          time to record, look up and walk among many entities and relations
forgery        whether hostile content can forge germane's delimiters
added DATA     what sources of events, graph and tasks add to the evidence that a context holds
bridges DATA   whether entities that messages share tell which messages answer, held out by conversation
current        whether a context shows what holds now, and nothing outdated unmarked, in seven languages
crowd DATA     calibration of probabilities by store size
adapters       generated conversations through LangGraph, Pydantic AI and the OpenAI Agents SDK, with the real packages
compactors     constraints and artifacts that survive compaction, by germane, LangChain's and the OpenAI Agents SDK's
tuning DATA    recall by relevance floor and recency weight
entered        modules of germane that one assembly and one recording enter
pack           time of packing and formatting alone
pasted         pastes that become something of the user's, and ordinary statements that are found
packers DATA   exact packing compared with greedy packing
proven         the exact packer against brute force
observing      time that logs, metrics and spans add to a call
remembering    memories per second, with the search for near-duplicates
compaction-fuzz  generated conversations that a compaction must not corrupt
compaction-evidence DATA  what questions need that is still there after a compaction, by strategy and size
consolidation  time to bring a large store within a storage budget
forgetting     time to forget in a large store, and the delay for other callers
erased         whether anything is left of a text, or of what was made of it, after each way to forget it
kills          traces left in files by a process killed while it forgets
roundtrip      export, import, export: byte-identical; time and memory of 100,000 messages
unchanged      requests of all providers with nothing to add: identical to the byte
refused        memory that the service holds after calls that it refused, of megabytes each
leftover       tasks, threads, files and memory left after 10,000 time-outs
soak           the long runs and the attacks in turn, or those named; fails where one misses what is promised
secrets DATA   secrets that are recognised, false alarms, and the cost of the search
embedders DATA questions in thirteen scripts, and texts a second, of the embedders without a network
entities       precision and recall of the entities that rules find, and of merged names
survival       whether constraints and artifacts survive compaction
summaries      honest summaries that the rules of acceptance refuse, and false ones that pass; time of checking
tasks          what the task stack and typed events bring to a coding session of 400 events; delegated agents
compaction     long conversations made to fit: time, the cost of one more message, and how much of the prefix stays
worth DATA …   fits what a profile and the clauses of messages are chosen by, and measures it on DATA
distil         makes the table of the default embedder from MiniLM
paired OTHER   processor time of an assembly in this checkout and another, in turn, window by window
golden …       messages and traces of 300 assemblies, to compare before and after a refactoring
peers …        comparison with other libraries
evaluated …    tables of the docs from files that `germane eval DATA --json FILE` saved
"""

from __future__ import annotations

import subprocess
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence

from bench import (
    added,
    answers,
    binding,
    blocks,
    bridges,
    budget,
    burst,
    client,
    compaction,
    compaction_evidence,
    compaction_fuzz,
    consolidation,
    crowd,
    current,
    digest,
    distil,
    doors,
    embedders,
    entered,
    entities,
    erased,
    evaluated,
    forgery,
    forgetting,
    giant,
    golden,
    graph,
    hooks,
    ingest,
    keyword,
    kills,
    latency,
    leftover,
    linear,
    load,
    memory_tool,
    minilm,
    neighbour,
    observing,
    opening,
    others,
    outlining,
    pack,
    packers,
    paired,
    pasted,
    port,
    proven,
    proxy,
    refused,
    remembering,
    roundtrip,
    secrets,
    service,
    summaries,
    survival,
    tasks,
    tuning,
    turns,
    unchanged,
    worth,
)

_LONG: Mapping[str, Callable[[], int]] = {
    "binding": lambda: binding.main([]),
    "blocks": lambda: blocks.main(["--count", "100000"]),
    "compaction-fuzz": lambda: compaction_fuzz.main([]),
    "budget": lambda: budget.main(["--count", "100000"]),
    "digest": lambda: digest.main(["--count", "100000"]),
    "forgery": lambda: forgery.main(["--count", "100000"]),
    "linear": lambda: linear.main(["--count", "30000", "--lists", "1000", "--minutes", "20"]),
    "proven": lambda: proven.main(["--count", "100000"]),
    "roundtrip": lambda: roundtrip.main(["--count", "2000"]),
    "unchanged": lambda: unchanged.main(["--count", "20000"]),
    "leftover": lambda: leftover.main([]),
    "kills": lambda: kills.main([]),
    "erased": lambda: erased.main([]),
    "properties": lambda: _tests("--hypothesis-profile", "soak", "-m", "hypothesis or soak", "tests"),
    "ways-in": lambda: _tests("tests/api/test_ways_in.py"),
    "summaries": lambda: summaries.main([]),
    "giant": lambda: giant.main([]),
    "port": lambda: port.main([]),
    "proxy": lambda: proxy.main(["--only", "faults"]),
    "neighbour": lambda: neighbour.main([]),
    "memory_tool": lambda: memory_tool.main([]),
    "pasted": lambda: pasted.main(["--count", "3000"]),
}


def _tests(*arguments: str) -> int:
    """Runs tests of the suite in a process of their own."""
    return subprocess.run([sys.executable, "-m", "pytest", "-q", "-n", "0", *arguments], check=False).returncode


def _soak(names: Sequence[str]) -> int:
    """Runs all long benchmarks, or those named. A failure doesn't stop the others, nor does one that ends with an error."""
    if strangers := [name for name in names if name not in _LONG]:
        print(f"soak: no run is called {strangers[0]}: they are {', '.join(_LONG)}")
        return 2
    failed = []
    for name in names or _LONG:
        print(f"\n== {name}", flush=True)
        try:
            missed = _LONG[name]()
        except Exception:
            traceback.print_exc()
            missed = 1
        if missed:
            failed.append(name)
    print(f"\nsoak: {', '.join(failed) or 'nothing'} failed")
    return int(bool(failed))


def main() -> int:
    name, *rest = sys.argv[1:] or ["all"]
    match name:
        case "adapters":
            from bench.adapters import main as adapters

            return adapters(rest)
        case "compactors":
            from bench.compactors.__main__ import main as compactors

            return compactors(rest)
        case "latency":
            latency.main(rest)
        case "turns":
            turns.main(rest)
        case "others":
            others.main(rest)
        case "burst":
            burst.main(rest)
        case "graph":
            graph.main(rest)
        case "survival":
            return survival.main(rest)
        case "tasks":
            tasks.main(rest)
        case "compaction-fuzz":
            return compaction_fuzz.main(rest)
        case "compaction":
            compaction.main(rest)
        case "compaction-evidence":
            compaction_evidence.main(rest)
        case "consolidation":
            consolidation.main(rest)
        case "remembering":
            remembering.main(rest)
        case "forgetting":
            forgetting.main(rest)
        case "kills":
            return kills.main(rest)
        case "erased":
            return erased.main(rest)
        case "unchanged":
            return unchanged.main(rest)
        case "roundtrip":
            return roundtrip.main(rest)
        case "leftover":
            return leftover.main(rest)
        case "refused":
            refused.main(rest)
        case "load":
            load.main(rest)
        case "observing":
            observing.main(rest)
        case "opening":
            opening.main(rest)
        case "outlining":
            outlining.main(rest)
        case "minilm":
            minilm.main(rest)
        case "service":
            service.main(rest)
        case "client":
            client.main(rest)
        case "hooks":
            hooks.main(rest)
        case "doors":
            doors.main(rest)
        case "proxy":
            return proxy.main(rest)
        case "proven":
            return proven.main(rest)
        case "port":
            return port.main(rest)
        case "peers":
            from bench.peers.__main__ import main as peers

            return peers(rest)
        case "ingest":
            ingest.main(rest)
        case "budget":
            return budget.main(rest)
        case "binding":
            return binding.main(rest)
        case "blocks":
            return blocks.main(rest)
        case "forgery":
            return forgery.main(rest)
        case "memory_tool":
            return memory_tool.main(rest)
        case "embedders":
            embedders.main(rest)
        case "summaries":
            return summaries.main(rest)
        case "entered":
            entered.main(rest)
        case "entities":
            return entities.main(rest)
        case "worth":
            worth.main(rest)
        case "distil":
            return distil.main(rest)
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
        case "answers":
            answers.main(rest)
        case "pack":
            pack.main(rest)
        case "paired":
            paired.main(rest)
        case "pasted":
            return pasted.main(rest)
        case "packers":
            packers.main(rest)
        case "keyword":
            keyword.main(rest)
        case "digest":
            return digest.main(rest)
        case "added":
            added.main(rest)
        case "bridges":
            bridges.main(rest)
        case "current":
            current.main(rest)
        case "crowd":
            crowd.main(rest)
        case "tuning":
            tuning.main(rest)
        case "secrets":
            secrets.main(rest)
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
