"""Memory tool: whether any path leaves `/memories`, and whether an edit of two agents on one file is ever lost.

    python -m bench memory_tool --paths 100000 --pairs 10000

A path is right where it is refused, or where its label stays below `/memories` however it is read: as it stands, after percent
signs are decoded (twice), with backslashes for slashes, in each normal form, and with look-alikes of `/` and `.` folded.

In a pair, two conversations view the same file and then edit it from that reading, in random order: each replaces a run of
words, or inserts a line, and adds a mark. Both marks must be in the file, each in one piece and once, or the second
conversation was told that its edit wasn't made. With `if_hash` the second one must always be told."""

from __future__ import annotations

import argparse
import asyncio
import posixpath
import random
import sys
import time
import unicodedata
from collections.abc import Iterator, Sequence
from urllib.parse import unquote

from germane import Agent, Germane
from germane.errors import InvalidInput
from germane.integrations.memory_tool.files import ROOT, parse_path
from germane.integrations.memory_tool.tool import memory_tool

__all__ = ["escapes", "hostile_path", "interleaved", "main"]

_FORMS = ("NFC", "NFD", "NFKC", "NFKD")
_PIECES = (
    *("..", ".", "/", "//", "\\", "%2e%2e", "%2E", "%2f", "%5c", "%252e%252e", "%00", "\0", "..%c0%af", "~", "/etc/passwd"),
    *("／", "⁄", "∕", "＼", "∖", "．．", "․․", "‥", "…", "。", "﹒﹒", "\u202e", "\u200b", "\ufeff", "\ud800", "\n", "\t", " "),
    *("notes", "system", "a.md", ".git", "memories", "C:", "CON", "日本", "é", "e\u0301", "℅", "½", "%", "%zz", "x" * 300),
)
_ALIKE = str.maketrans({**dict.fromkeys("⁄∕╱⟋⧸᜵", "/"), **dict.fromkeys("∖⧵⧹╲", "\\"), **dict.fromkeys("․‥…。．﹒·", ".")})
_WORDS = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa")


def hostile_path(chance: random.Random) -> str:
    """One path that tries to leave the root."""
    begin = chance.choice(
        (ROOT, f"{ROOT}/", f"{ROOT}/", f"{ROOT}/a/", "/memoriesX/", "", "/", "memories/", f"{ROOT}%2f", f"//{ROOT[1:]}/")
    )
    pieces = (
        chance.choice(_PIECES) if chance.random() < 0.9 else chr(chance.randrange(0x110000))
        for _ in range(chance.randint(0, 6))
    )
    return begin + chance.choice(("", "/", "/")).join(pieces)


def escapes(path: str) -> str:
    """Returns how a path leaves the root; '' where it doesn't, or is refused."""
    try:
        label = parse_path(path).label
    except InvalidInput:
        return ""
    for reading in _readings(label):
        for turned in (reading, reading.replace("\\", "/")):
            resolved = posixpath.normpath(f"{ROOT}/{turned}")
            if resolved != ROOT and not resolved.startswith(f"{ROOT}/"):
                return f"{path!r} is read as {resolved!r}"
            if label and (resolved == ROOT or resolved.count("/") != label.count("/") + 2):
                return f"{path!r} is read as another place, {resolved!r}"
        if "\0" in reading:
            return f"{path!r} holds a NUL"
    return ""


def _readings(label: str) -> Iterator[str]:
    for decoded in (label, unquote(label), unquote(unquote(label))):
        yield decoded
        yield decoded.translate(_ALIKE)
        for form in _FORMS:
            yield unicodedata.normalize(form, decoded).translate(_ALIKE)  # type: ignore[arg-type]


async def interleaved(agent: Agent, chance: random.Random, name: str, *, guarded: bool = False) -> str:
    """One pair of edits from one reading. Returns what was lost; '' if nothing. With `guarded` both give `if_hash`."""
    path = f"{ROOT}/{name}.md"
    words = [f"{chance.choice(_WORDS)}{number:02}" for number in range(chance.randint(6, 14))]
    lines = [" ".join(words[start : start + 3]) for start in range(0, len(words), 3)]
    text = "\n".join(lines) + "\n"
    tools = [memory_tool(agent, by=who, hashes=True) for who in ("one", "two")]
    await tools[0]({"command": "create", "path": path, "file_text": text})
    seen = [(await tool({"command": "view", "path": path})) for tool in tools]
    told = []
    for number in chance.sample((0, 1), 2):
        command = _edit(chance, text, lines, f"mark{number}")
        if guarded:
            command["if_hash"] = seen[number].rpartition("content_sha256: ")[2].rstrip("]")
        answer = await tools[number].answer({**command, "path": path})
        told.append((number, answer.is_error))
    now = (await agent.blocks.get(path.removeprefix(f"{ROOT}/"))).text
    if [is_error for _, is_error in told] != [False, guarded]:
        return f"{path}: the edits were answered {told}"
    kept = [number for number, is_error in told if not is_error]
    lost = [number for number in kept if now.count(f"mark{number}") != 1]
    return f"{path}: {lost} of {kept} lost: {text!r} became {now!r}" if lost else ""


def _edit(chance: random.Random, text: str, lines: Sequence[str], mark: str) -> dict[str, object]:
    kind = chance.randrange(3)
    if kind == 0:
        return {"command": "insert", "insert_line": chance.randint(0, len(lines)), "insert_text": f"a line with {mark}"}
    if kind == 1:  # the whole file, rewritten
        return {
            "command": "str_replace",
            "old_str": text,
            "new_str": f"{text.swapcase() if chance.random() < 0.3 else text}and {mark}\n",
        }
    words = text.split()
    first = chance.randrange(len(words))
    old = text[text.index(words[first]) :]
    old = old[: chance.randint(len(words[first]), len(old))]
    return {"command": "str_replace", "old_str": old, "new_str": f"{old[: len(old) // 2]} {mark} {chance.choice(_WORDS)}"}


async def _pairs(count: int, seed: int) -> int:
    chance, lost = random.Random(seed), 0
    async with Germane.open(":memory:", embedder=None) as germane:
        for number in range(count):
            agent = germane.agent(f"agent{number // 100}")
            problem = await interleaved(agent, chance, f"file{number}", guarded=number % 4 == 3)
            if problem:
                lost += 1
                print(f"LOST {problem}", file=sys.stderr)
    return lost


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Look for paths that leave /memories, and for lost edits.")
    parser.add_argument("--paths", type=int, default=100_000)
    parser.add_argument("--pairs", type=int, default=10_000, help="pairs of edits from one reading; every fourth with if_hash")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args(arguments)
    chance, began = random.Random(options.seed), time.monotonic()
    found = [problem for _ in range(options.paths) if (problem := escapes(hostile_path(chance)))]
    for problem in found[:5]:
        print(f"ESCAPED {problem}", file=sys.stderr)
    print(f"{len(found)} of {options.paths:,} paths leave {ROOT}; {time.monotonic() - began:.0f} s")
    began = time.monotonic()
    lost = asyncio.run(_pairs(options.pairs, options.seed))
    print(f"{lost} edits lost in {options.pairs:,} pairs; {time.monotonic() - began:.0f} s")
    return 1 if found or lost else 0


if __name__ == "__main__":
    sys.exit(main())
