"""Session text: files, outputs, stacks and listings in the shape of real ones, from a seed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePosixPath
from random import Random

__all__ = ["failed_run", "file_text", "listing", "passed_run", "stack"]

_NOUNS = tuple("amount attempt batch body booking charge code cursor entry fare flag hook key page part row state".split())  # noqa: SIM905
_VERBS = tuple(
    "apply check close count fetch find load merge note parse read release select send settle split store take".split()  # noqa: SIM905
)


def file_text(path: str, line: str, random: Random) -> str:
    """A file of the right kind for its path, with `line` somewhere in the middle."""
    if not path.endswith(".py"):
        head = [f"# {PurePosixPath(path).stem}: read at start, {random.randint(2, 9)} owners", ""]
        rows = [f"{noun}_{random.choice(_VERBS)}: {random.randint(1, 900)}" for noun in random.sample(_NOUNS, 7)]
        return "\n".join([*head, *rows[:4], line, *rows[4:]])
    before, after = (_function(random) for _ in range(2))
    used = sorted(random.sample(_NOUNS, 3))
    head = ["from __future__ import annotations", "", f"from ferry.{used[0]} import {', '.join(used[1:])}", ""]
    return "\n".join([*head, *before, "", line, "", *after])


def _function(random: Random) -> list[str]:
    verb, (noun, other) = random.choice(_VERBS), random.sample(_NOUNS, 2)
    return [
        f"def {verb}_{noun}({noun}: {noun.title()}, *, {other}: int = {random.randint(0, 90)}) -> {other.title()}:",
        f'    """{verb.title()} the {noun}, at most {random.randint(2, 400)} at once."""',
        f"    found = {random.choice(_VERBS)}({noun}.{other}s, limit={other})",
        f"    return {other.title()}(found, {noun}.id)",
    ]


def listing(path: str, line: str, random: Random) -> list[str]:
    """Hits of a search: the file that is looked for among similar ones."""
    pure = PurePosixPath(path)
    others = [
        str(pure.with_name(f"{pure.stem}_{word}{pure.suffix}"))
        for word in random.sample(["v1", "old", "batch", "types", "fake"], 3)
    ]
    hits = [f"{other}:{random.randint(3, 210)}: {random.choice(_function(random)[2:]).strip()}" for other in others]
    hits.insert(random.randrange(4), f"{path}:{random.randint(3, 90)}: {line.split('(')[0].split('=')[0].strip()[:28]}")
    return hits


def stack(path: str, error: str, random: Random) -> str:
    """A stack as Python prints it, which ends with the error."""
    frames = [f"src/ferry/{random.choice(_NOUNS)}s/{random.choice(_VERBS)}.py" for _ in range(2)]
    lines = ["Traceback (most recent call last):"]
    for place in (*frames, path):
        lines.append(f'  File "{place}", line {random.randint(8, 240)}, in {random.choice(_VERBS)}_{random.choice(_NOUNS)}')
        lines.append(f"    {random.choice(_NOUNS)} = {random.choice(_VERBS)}({random.choice(_NOUNS)})")
    return "\n".join([*lines, error])


def failed_run(command: str, path: str, error: str, random: Random) -> str:
    """What the command prints when it fails: pytest's report, or a log that ends with a stack."""
    seconds = f"{random.uniform(0.4, 19):.2f}s"
    if command.startswith("pytest"):
        test = f"{command.split()[1]}::test_{random.choice(_VERBS)}_{random.choice(_NOUNS)}"
        dots = "".join(random.choices("..............F", k=random.randint(8, 40)))
        body = _marked(stack(path, error, random).splitlines()[-3:])
        return "\n".join(
            [f"{dots}  [100%]", "=" * 20 + " FAILURES " + "=" * 20, *body, f"FAILED {test}", f"1 failed in {seconds}"]
        )
    return "\n".join([*_log(random), stack(path, error, random), f"exit status {random.randint(1, 3)}, {seconds}"])


def passed_run(command: str, random: Random) -> str:
    """What it prints when it succeeds."""
    if command.startswith("pytest"):
        count = random.randint(6, 60)
        return f"{'.' * count}  [100%]\n{count} passed in {random.uniform(0.4, 19):.2f}s"
    return "\n".join([*_log(random), f"done: {random.randint(20, 9000)} {random.choice(_NOUNS)}s"])


def _log(random: Random) -> Sequence[str]:
    minute, start = random.randint(10, 59), random.randint(0, 50)
    lines = list[str]()
    for second in range(random.randint(3, 8)):
        what = f"{random.choice(_VERBS)} {random.choice(_NOUNS)} {random.randint(10, 99_999)}"
        lines.append(f"14:{minute}:{start + second:02} INFO {what}")
    return lines


def _marked(lines: Sequence[str]) -> list[str]:
    return [*(f">   {line.strip()}" for line in lines[:-1]), f"E   {lines[-1]}"]
