"""Golden: writes the messages and traces of 300 assemblies, for a byte-by-byte comparison before and after a refactoring.

    python -m bench golden FOLDER DATA --write before.jsonl
    python -m bench golden FOLDER DATA --write after.jsonl && cmp before.jsonl after.jsonl

FOLDER keeps the filled stores, so that both versions read the same ids and the same nonce key; DATA is a data set that
`germane eval` reads. The clock is fixed and there is no deadline, so that the output doesn't depend on speed. Each assembly
opens a copy of its store, so that it doesn't see another's retrieval counts. Values are written by position, without field
names, so that renamed fields compare equal.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from datetime import UTC, datetime
from itertools import count, cycle, islice
from pathlib import Path
from typing import Any

from germane import Agent, Clock, Context, Filters, Germane, Strategy, derive
from germane.models.embedders.distilled import Distilled
from germane_eval.dataset import Conversation, fill
from germane_eval.formats import load

_MOMENT = datetime(2026, 11, 22, 12, tzinfo=UTC)
_CLOCK = Clock(now=lambda: _MOMENT, steady=lambda: 0.0)
_MODELS = (("gpt-4o", None), ("claude-sonnet-4-5", None), ("gemini-2.5-flash", None), ("gpt-4.1-mini", "anthropic"))
_LIMITS = (None, 250, 1_000, 60, 3_000)
_CONVERSATIONS, _QUESTIONS = 4, 60
_DEMO = (
    "Which night do I sing?",
    "When does the shop open, and has that changed?",
    "Who is Jonah?",
    "Write me a recipe for flatbread.",
    "Can I have walnuts again?",
    "ok thanks",
    "hi",
    "What did I ask for on 12 September?",
)
_TOOLS = [{"type": "function", "function": {"name": "look_up", "parameters": {"type": "object", "properties": {}}}}]


_CHANGES: Sequence[Mapping[str, Any]] = (
    {"placement": "split"},
    {"placement": "split", "format": "compact", "details": ()},
    {"packer": "exact", "format": "compact", "details": ()},
    {"packer": "auto"},
    {"packer": "rank", "floor": 0.01},
    {"shares": {"sources": {"messages": 30, "memories": 20}}},
    {"shares": {"total": {"items": 5}}, "tags": ["stack"], "fact_keys": ["database"]},
    {"sources": {"messages": {"vectors": False}, "recent": {"limit": 0}}},
    {"weights": {"recency": 2.0, "frequency": 1.0}},
)


def strategies(verbose: Strategy) -> Iterator[str | Strategy]:
    """Built-in strategies by name, then one for each setting that changes the path through the pipeline."""
    yield from ("verbose", "compact", "composite")
    for number, changes in enumerate(_CHANGES):
        yield derive(verbose, {**changes, "name": f"changed-{number}"})


def asking(question: str, number: int) -> list[dict[str, Any]]:
    """The question alone, after a system text, after what was said before, after a tool's answer."""
    asked = {"role": "user", "content": question}
    before = [{"role": "user", "content": "Hello again."}, {"role": "assistant", "content": "Hello! What is it about?"}]
    call = {"id": "c1", "type": "function", "function": {"name": "look_up", "arguments": "{}"}}
    tool: list[dict[str, Any]] = [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "Nothing was found."},
    ]
    system = {"role": "system", "content": "You are a careful assistant."}
    shapes: list[list[dict[str, Any]]] = [[asked], [system, asked], [*before, asked], [system, *before, asked, *tool]]
    return shapes[number % 4]


def plain(value: Any) -> Any:
    """As JSON: a dataclass becomes the list of its values, so that a renamed field changes nothing."""
    if is_dataclass(value) and not isinstance(value, type):
        return [plain(getattr(value, field.name)) for field in fields(value)]
    if isinstance(value, Mapping):
        return {str(key): plain(one) for key, one in value.items()}
    if isinstance(value, frozenset | set):
        return sorted(map(repr, value))
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [plain(one) for one in value]
    return value if isinstance(value, str | int | bool | None) else repr(value)


def line(name: str, context: Context) -> str:
    sources = tuple(replace(report, latency=0.0) for report in context.trace.sources)  # a reader thread has a clock of its own
    trace = replace(context.trace, timings=(), sources=sources)
    metadata = replace(context.metadata, timings=(), sources=sources)
    return json.dumps(
        {
            "case": name,
            "messages": plain(context.messages),
            "added": context.added,
            "metadata": plain(metadata),
            "trace": plain(trace),
        },
        ensure_ascii=False,
        sort_keys=True,
    )


def demo(folder: Path) -> Path:
    path = folder / "demo.db"
    if not path.exists():
        command = [sys.executable, "-m", "germane.cli", "--db", str(path), "demo"]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return path


async def filled(conversation: Conversation, folder: Path, embedder: Distilled) -> Path:
    path = folder / f"{conversation.name}.db"
    if not path.exists():
        part = folder / "part.db"
        part.unlink(missing_ok=True)
        async with Germane.open(part, embedder=embedder, clock=_CLOCK) as germane:
            agent = germane.agent("golden")
            await agent.directive("Answer briefly.")
            for key, value, tags in (
                ("database", "SQLite", ["stack"]),
                ("city", "Vienna", []),
                ("language", "German", ["stack"]),
            ):
                await agent.remember(kind="fact", key=key, value=value, tags=tags)
            await agent.remember("Prefers short answers", kind="preference", pinned=True)
            await agent.remember("Salary talks are confidential", sensitivity="sensitive")
            await fill(agent, conversation)
        part.rename(path)
    return path


async def assembled(
    path: Path, name: str, embedder: Distilled, number: int, question: str, session: str
) -> tuple[str, Context]:
    model, provider = _MODELS[number % len(_MODELS)]
    with tempfile.TemporaryDirectory() as place:
        copy = shutil.copy(path, Path(place) / "copy.db")
        async with Germane.open(copy, embedder=embedder, clock=_CLOCK) as germane:
            chosen = list(strategies(germane.strategies.find("verbose")))[number % 12]
            agent: Agent = germane.agent(name)
            await agent.warm()
            context = await agent.assemble(
                asking(question, number // 3),
                model=model,
                provider=provider,
                session=session if number % 5 == 2 else None,
                tools=_TOOLS if number % 7 == 3 and provider is None and model.startswith("gpt") else None,
                deadline=None,
                max_tokens=_LIMITS[number % len(_LIMITS)],
                strategy=chosen,
                filters=Filters(sensitivities=("public", "private", "sensitive")) if number % 11 == 5 else None,
            )
    strategy = chosen if isinstance(chosen, str) else chosen.name
    return f"{path.stem} {number} {strategy} {model} {provider} {question}", context


async def run(folder: Path, data: Path) -> AsyncIterator[str]:
    """One line of JSON for each assembly."""
    embedder = Distilled()
    cases = [(demo(folder), "default", "lunches", list(_DEMO))]
    for conversation in load(data).conversations[:_CONVERSATIONS]:
        path = await filled(conversation, folder, embedder)
        cases.append((path, "golden", next(iter(conversation.sessions)), [asked.text for asked in conversation.questions]))
    numbers = count()
    for path, agent, session, questions in cases:
        for question in islice(cycle(questions), _QUESTIONS):
            yield line(*await assembled(path, agent, embedder, next(numbers), question, session))


async def _collect(folder: Path, data: Path) -> list[str]:
    return [line async for line in run(folder, data)]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench golden", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="where the filled stores are kept")
    parser.add_argument("data", type=Path, help="labelled conversations, as germane eval reads them")
    parser.add_argument("--write", type=Path, required=True, metavar="FILE", help="a line of JSON for each assembly")
    options = parser.parse_args(arguments)
    options.folder.mkdir(parents=True, exist_ok=True)
    lines = asyncio.run(_collect(options.folder, options.data))
    options.write.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    print(f"{len(lines)} assemblies in {options.write}")


if __name__ == "__main__":
    main()
