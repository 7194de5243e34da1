"""Twins: writes the blocking twins of the asynchronous classes: `germane.sync`, and the modules of the blocking client.

`make twins` runs it; `tests/rules/test_twins.py` fails where a file differs. A method of `germane.sync` has the signature and
the docstring of the asynchronous one and forwards its arguments. What can't be made from a signature (opening, closing,
builders, values that a constructor sets) is in the bases of `germane/api/blocking.py`. The blocking client and its handles are
the asyncio client's modules over other bases.
"""

from __future__ import annotations

import ast
import builtins
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

SOURCES = Path(__file__).parents[1] / "src"
TWINS = (
    ("germane.api.germane", "Germane", "BlockingGermane"),
    ("germane.api.agent", "Agent", "BlockingAgent"),
    ("germane.kinds.memories.handle", "AgentMemories", "BlockingTwin"),
    ("germane.kinds.blocks.handle", "AgentBlocks", "BlockingTwin"),
    ("germane.kinds.documents.handle", "AgentDocuments", "BlockingTwin"),
    ("germane.kinds.events.handle", "AgentEvents", "BlockingTwin"),
    ("germane.kinds.graph.handle", "AgentGraph", "BlockingTwin"),
    ("germane.kinds.graph.handle", "Patterns", "BlockingTwin"),
    ("germane.kinds.tasks.handle", "AgentTasks", "BlockingTwin"),
    ("germane.kinds.tasks.handle", "Delegations", "BlockingTwin"),
    ("germane.kinds.tasks.handle", "Delegation", "BlockingDelegation"),
    ("germane.kinds.conversations.handle", "AgentConversations", "BlockingTwin"),
    ("germane.kinds.keys.handle", "Keyring", "BlockingTwin"),
)
"""The classes with a twin in `germane.sync`: their module, their name (also the twin's), the base of the twin."""
NO_TWIN = frozenset({"connect"})
"""Public methods whose twin is written: what they return has a twin elsewhere."""
BASES = "germane.api.blocking"
MADE = '# Made by tools/twins.py from the asynchronous classes. To change it, change those and run "make twins".\n'
SYNC = '''"""Sync: the blocking twin of `germane`. It only forwards its calls to the asynchronous implementation.

    from germane.sync import Germane

    with Germane.open("germane.db") as germane:
        context = germane.agent("support").assemble(messages, model="gpt-4o")

Without `with` it opens at its first call, in a notebook, or in a web server's module, and `close` closes it. A process that
ends without `close` loses nothing that a call has returned. Each opened `Germane` has one event loop in one daemon thread, and
any number of threads may call it. Listeners, hooks and progress callbacks are called in the loop's thread. A call that is
interrupted is cancelled; a call under way when another thread closes the `Germane` raises `StoreUnavailable`. Don't call it
from an event loop, which it would block, nor from a source or a callback of its own, which would wait for itself.
"""
'''
CLIENT = '''"""Blocking client: the client of the service for threads, otherwise the same as `germane.grpc.client`.

    with Client("127.0.0.1:7411", org="acme", agent="support") as client:
        answer = client.assemble(messages, model="gpt-4o", user="caroline")

Thread-safe. A call waits in the caller's own thread (see `germane/grpc/client/blocking_calls.py`). After a fork, a client that
has made calls works in the parent only: make a new client in each process.
"""
'''
HANDLES = '''"""Blocking handles: the handles of the blocking client, otherwise the same as `germane.api.remote.handles`."""
'''
HTTP = '''"""Blocking HTTP: a `Germane` in another process over HTTP for threads, else as `germane.api.remote.http`.

    from germane.sync import Germane

    with Germane.connect("https://memory.example.com", key=key, org="acme") as germane:
        answer = germane.agent("support", user="ana").assemble(messages, model="gpt-4o")

Thread-safe. The requests run on an event loop in one daemon thread.
"""
'''
OF_THE_CLIENT = {
    "germane.grpc.blocking": ("germane.grpc.client", CLIENT),
    "germane.api.remote.blocking_handles": ("germane.api.remote.handles", HANDLES),
    "germane.api.remote.blocking_http": ("germane.api.remote.http", HTTP),
}
"""The modules of the blocking client: the asyncio client's module that each is made from, and its own docstring."""
BLOCKING_WORDS = {
    r"\bclient\.asyncio_calls\b": "client.blocking_calls",
    r"\bremote\.handles\b": "remote.blocking_handles",
    r"\bClient(?!Calls\b|Handle\b|Scope\b|Metadata\b)(?=[A-Z])": "Blocking",
    r"\bHttpConnection\b": "BlockingConnection",
    r"\bAsyncIterator\b": "Iterator",
    r"\baclosing\b": "closing",
    r"__a(enter|exit)__": r"__\1__",
    r"\basync (def|with|for)\b": r"\1",
    r"\bawait ": "",
}
"""What the asyncio client's modules say, as patterns, and what the blocking ones say in its place."""
_Method = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass
class Source:
    """A module as it is written."""

    module: str

    @cached_property
    def text(self) -> str:
        return path_of(self.module).read_text("utf-8")

    @cached_property
    def body(self) -> list[ast.stmt]:
        """The statements of the module, those below `if TYPE_CHECKING` among them."""
        tree = ast.parse(self.text)
        return [one for node in tree.body for one in (node.body if isinstance(node, ast.If) else [node])]

    def segment(self, node: ast.AST) -> str:
        return ast.get_source_segment(self.text, node) or ""

    def methods(self, name: str) -> list[_Method]:
        """The public methods and properties of a class, in their order."""
        (found,) = (node for node in self.body if isinstance(node, ast.ClassDef) and node.name == name)
        return [one for one in found.body if isinstance(one, _Method) and not one.name.startswith("_")]

    def home(self, name: str) -> tuple[str, str]:
        """The module and the name there of what is called `name` here; the name is empty for a whole module."""
        for node in self.body:
            for alias in node.names if isinstance(node, ast.Import | ast.ImportFrom) else ():
                if (alias.asname or alias.name) == name:
                    return (node.module or "", alias.name) if isinstance(node, ast.ImportFrom) else (alias.name, "")
        return self.module, name


@dataclass
class Imports:
    """The names that a made module needs when it is loaded, and those that only its annotations need."""

    loaded: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    annotated: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))

    def add(self, source: Source, node: ast.AST | None, *, loaded: bool = False) -> None:
        """Adds what an annotation or a default names."""
        names = [one.id for one in ast.walk(node) if isinstance(one, ast.Name)] if node is not None else []
        for name in names:
            if name not in {twin for _, twin, _ in TWINS} and not hasattr(builtins, name):
                module, there = source.home(name)
                (self.loaded if loaded else self.annotated)[module].add(there)

    def lines(self) -> Iterator[str]:
        """The import statements."""
        yield from _imported(self.loaded)
        yield "if TYPE_CHECKING:"
        yield from (f"    {line}" for line in _imported(self.annotated, without=self.loaded))


def path_of(module: str) -> Path:
    place = SOURCES.joinpath(*module.split("."))
    return place / "__init__.py" if place.is_dir() else place.with_suffix(".py")


def sync() -> str:
    """The text of `germane.sync`."""
    imports, sources = Imports(), {module: Source(module) for module, _, _ in TWINS}
    imports.loaded["typing"] = {"TYPE_CHECKING"}
    imports.loaded[BASES] = {base for _, _, base in TWINS}
    classes = list[str]()
    for module, name, base in TWINS:
        head = f'class {name}({base}):\n    """As `{module}.{name}`."""'
        if base == "BlockingTwin":
            imports.annotated[module].add(f"{name} as Awaited{name}")
            head += f"\n\n    _awaited: Awaited{name}"
        own = {method.name for method in Source(BASES).methods(base)}
        made = [method for method in sources[module].methods(name) if method.name not in own | NO_TWIN]
        methods = ["\n".join(_method(sources[module], name, method, imports)) for method in made]
        classes.append("\n\n".join([head, *methods]) + "\n")
    exported = "".join(f'    "{name}",\n' for name in sorted(name for _, name, _ in TWINS))
    start = f"{MADE}{SYNC}\nfrom __future__ import annotations\n\n" + "\n".join(imports.lines())
    return formatted("\n\n".join([f"{start}\n\n__all__ = [\n{exported}]\n", *classes]))


def client(module: str) -> str:
    """The text of a module of the blocking client: that of the asyncio client's, over the calls that block."""
    origin, own = OF_THE_CLIENT[module]
    source = Source(origin)
    docstring = source.segment(source.body[0])
    rest = source.text.partition(docstring)[2].lstrip("\n")
    for waiting, blocking in BLOCKING_WORDS.items():
        rest = re.sub(waiting, blocking, rest)
    return formatted(MADE + own + "\n" + rest)


def formatted(text: str) -> str:
    """Returns the text of a module as the project's formatter writes it."""
    for command in (["check", "-q", "--fix-only", "--select", "I,UP,SIM117", "-"], ["format", "-q", "-"]):
        ran = [sys.executable, "-m", "ruff", *command, "--stdin-filename", __file__]
        text = subprocess.run(ran, input=text, capture_output=True, text=True, check=True).stdout
    return text


def _method(source: Source, owner: str, method: _Method, imports: Imports) -> Iterator[str]:
    """The lines of the twin of one method."""
    kinds = [ast.unparse(one) for one in method.decorator_list]
    kind = next((one for one in kinds if one in ("property", "cached_property", "classmethod")), "")
    returns = ast.unparse(method.returns) if method.returns is not None else "None"
    twin = returns if returns in {name for _, name, _ in TWINS} else ""
    streams = returns.startswith("AsyncIterator[")
    imports.add(source, method.returns.slice if isinstance(method.returns, ast.Subscript) and streams else method.returns)
    if streams:
        imports.annotated["collections.abc"].add("Iterator")
    if kind == "cached_property":
        imports.loaded["functools"].add(kind)
    if kind:
        yield f"    @{kind}"
    signature = list(_parameters(source, method.args, imports))
    yield f"    def {method.name}({', '.join(signature)}) -> {returns.removeprefix('Async') if streams else returns}:"
    if ast.get_docstring(method) is not None:
        yield f"        {_blocking_prose(source.segment(method.body[0]))}"
    given = list(_arguments(method.args))
    if kind == "classmethod":
        imports.loaded[source.module].add(f"{owner} as Awaited{owner}")
        yield f"        opened = Awaited{owner}.{method.name}({', '.join(given)})"
        yield "        return cls(opened)"
    elif "property" in kind:
        called = f"self._awaited.{method.name}"
        yield f"        return {twin}({called}, self._loop)" if twin else f"        return {called}"
    else:
        if streams:
            call, end = f"self._loop.each(self._awaited.{method.name}(", "))"
        elif isinstance(method, ast.AsyncFunctionDef):
            call, given, end = "self._loop.call(", [f"self._awaited.{method.name}", *given], ")"
        else:
            call, end = f"self._awaited.{method.name}(", ")"
        yield f"        {'awaited =' if twin else 'return'} {call}{', '.join(given)}{end}"
        if twin:
            yield f"        return {twin}(awaited, self._loop)"


def _parameters(source: Source, given: ast.arguments, imports: Imports) -> Iterator[str]:
    """The parameters as they are written, with their annotations and defaults."""
    positional = [*given.posonlyargs, *given.args]
    missing = [None] * (len(positional) - len(given.defaults))

    def written(one: ast.arg, default: ast.expr | None = None, stars: str = "") -> str:
        imports.add(source, one.annotation)
        imports.add(source, default, loaded=True)
        text = stars + one.arg + (f": {source.segment(one.annotation)}" if one.annotation is not None else "")
        return text if default is None else f"{text}{' = ' if one.annotation is not None else '='}{source.segment(default)}"

    yield from (written(one, default) for one, default in zip(positional, [*missing, *given.defaults], strict=True))
    if given.vararg is not None:
        yield written(given.vararg, stars="*")
    elif given.kwonlyargs:
        yield "*"
    yield from (written(one, default) for one, default in zip(given.kwonlyargs, given.kw_defaults, strict=True))
    if given.kwarg is not None:
        yield written(given.kwarg, stars="**")


def _arguments(given: ast.arguments) -> Iterator[str]:
    """The arguments that pass the parameters on."""
    yield from [one.arg for one in (*given.posonlyargs, *given.args)][1:]
    if given.vararg is not None:
        yield f"*{given.vararg.arg}"
    yield from (f"{one.arg}={one.arg}" for one in given.kwonlyargs)
    if given.kwarg is not None:
        yield f"**{given.kwarg.arg}"


def _imported(modules: Mapping[str, set[str]], without: Mapping[str, set[str]] | None = None) -> Iterator[str]:
    for module, names in modules.items():
        for name in sorted(names - (without or {}).get(module, set())):
            yield f"from {module} import {name}" if name else f"import {module}"


def _blocking_prose(docstring: str) -> str:
    """A docstring without the words that asynchronous code needs."""
    broken = re.sub(r" (`?)await(\n +)", r"\2\1", docstring.replace("async with", "with"))
    return broken.replace("await ", "")


def main(texts: Iterable[tuple[str, str]]) -> None:
    for module, text in texts:
        path_of(module).write_text(text, "utf-8")


if __name__ == "__main__":
    main([("germane.sync", sync()), *((module, client(module)) for module in OF_THE_CLIENT)])
