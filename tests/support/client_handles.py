"""Client handles: writes the asyncio client's handles, `api/remote/handles.py`, from the table of operations.

`make twins` runs it and then writes the blocking client's from them; `tests/grpc/test_client_handles.py` compares.
"""

from __future__ import annotations

import types
from collections.abc import Iterable, Mapping
from dataclasses import is_dataclass
from inspect import Parameter, getdoc
from pathlib import Path
from textwrap import indent
from typing import Any, Literal, Union, get_args, get_origin

from tools.twins import formatted

from germane.api.operations import HANDLES, Operation, operations

FILE = Path(__file__).parents[2] / "src" / "germane" / "api" / "remote" / "handles.py"
_PARENTS = {"graph.patterns": "graph"}
ATTRIBUTES = tuple(dict.fromkeys(attribute for attribute, _ in HANDLES))
_HEAD = '''# Made by tests/support/client_handles.py from the table of operations. To change it, run "make twins".
"""Handles: the handles of the asyncio client.

Each method does what the library's method with the same name does. It raises germane's errors, `StoreUnavailable` where the
service doesn't answer.
"""

from __future__ import annotations

'''


class _Source:
    """The source of types and values, and the imports that it needs."""

    def __init__(self) -> None:
        self.imports: dict[str, set[str]] = {}

    def named(self, module: str, name: str) -> str:
        if module != "builtins":
            self.imports.setdefault(module, set()).add(name)
        return name

    def taken(self, kind: Any) -> str:
        """The type of a parameter: a mapping with the names of its fields does for a dataclass."""
        origin, inner = get_origin(kind), get_args(kind)
        if origin in (Union, types.UnionType):
            return " | ".join(dict.fromkeys(" | ".join(map(self.taken, inner)).split(" | ")))
        if origin is not None and len(inner) == 1 and origin is not Literal:
            return f"{self.named(origin.__module__, origin.__name__)}[{self.taken(inner[0])}]"
        return f"{self.type(kind)} | {self.type(Mapping[str, Any])}" if is_dataclass(kind) else self.type(kind)

    def type(self, kind: Any) -> str:
        if kind is None or kind is type(None):
            return "None"
        if kind is Any:
            return self.named("typing", "Any")
        origin, inner = get_origin(kind), get_args(kind)
        if origin in (Union, types.UnionType):
            return " | ".join(map(self.type, inner))
        if origin is Literal:
            return f"{self.named('typing', 'Literal')}[{', '.join(map(_text, inner))}]"
        if origin is not None:
            outer = self.named(origin.__module__, origin.__name__)
            return f"{outer}[{', '.join('...' if one is ... else self.type(one) for one in inner)}]"
        return self.named(kind.__module__, kind.__qualname__)

    def value(self, value: Any) -> str:
        if is_dataclass(value):
            self.named(type(value).__module__, type(value).__qualname__)
            return f"{type(value).__qualname__}()"
        return _text(value)

    def lines(self) -> Iterable[str]:
        def order(module: str) -> tuple[bool, str]:
            return module.startswith("germane"), module

        last = False
        for module in sorted(self.imports, key=order):
            if order(module)[0] and not last:
                yield ""
            last = order(module)[0]
            yield f"from {module} import {', '.join(sorted(self.imports[module]))}"


def _text(value: Any) -> str:
    return f'"{value}"' if isinstance(value, str) else repr(value)


def made() -> str:
    """Returns the source of the made module."""
    source = _Source()
    source.named("germane.api.remote.operation_call", "ClientHandle")
    operations_of: dict[str, list[Operation]] = {attribute: [] for attribute in ATTRIBUTES}
    for one in operations().values():
        if not one.declared.rpc:
            operations_of[one.attribute].append(one)
    # What others name comes first.
    order = sorted(operations_of, key=lambda attribute: (attribute in _PARENTS.values(), attribute == ""))
    body = "\n\n\n".join(_class(attribute, operations_of[attribute], source) for attribute in order)
    of_org = "".join(f'"{one.name}",' for one in operations().values() if one.declared.of_org).rstrip(",")
    constant = f'OF_ORG = frozenset({{{of_org}}})\n"""The operations on a whole org, whose path over HTTP names no agent."""'
    return formatted("\n\n\n".join((_HEAD + "\n".join(source.lines()), constant, body)) + "\n")


def class_name(attribute: str) -> str:
    """Returns the name of a handle's class."""
    return f"Client{attribute.rpartition('.')[2].capitalize() or 'Verbs'}"


def _class(attribute: str, methods: list[Operation], source: _Source) -> str:
    says = f"The methods of `agent.{attribute}`." if attribute else "The methods of the agent itself, and its handles."
    parts = [f'class {class_name(attribute)}(ClientHandle):\n    """{says}"""']
    inner = [one for one in ATTRIBUTES if _PARENTS.get(one, "") == attribute and one]
    for one in inner:
        name = one.rpartition(".")[2]
        parts.append(
            f"    @property\n    def {name}(self) -> {class_name(one)}:\n"
            f'        """The operations of `agent.{one}`."""\n'
            f"        return {class_name(one)}(self)"
        )
    parts += [_method(one, source) for one in methods]
    return "\n\n".join(parts)


def _method(one: Operation, source: _Source) -> str:
    name = one.method.__name__
    result = source.type(one.result)
    given = "".join(f", {key}={_given(parameter)}" for key, parameter in one.parameters.items())
    call = f'self._{one.right}("{one.name}", {result}{given})'
    takes = ", ".join(["self", *_parameters(one.parameters, one.hints, source)])
    doc = indent(f'"""{getdoc(one.method) or ""}"""', " " * 8)
    local = f"found: {result} = await {call}\n        return found"
    return f"    async def {name}({takes}) -> {result}:\n{doc}\n        {local}"


def _given(parameter: Parameter) -> str:
    return f"list({parameter.name})" if parameter.kind is Parameter.VAR_POSITIONAL else parameter.name


def _parameters(parameters: Mapping[str, Parameter], hints: Mapping[str, Any], source: _Source) -> Iterable[str]:
    starred = False
    for name, parameter in parameters.items():
        if parameter.kind is Parameter.KEYWORD_ONLY and not starred:
            yield "*"
            starred = True
        stars = "*" if parameter.kind is Parameter.VAR_POSITIONAL else "**" if parameter.kind is Parameter.VAR_KEYWORD else ""
        starred = starred or stars == "*"
        default = "" if parameter.default is Parameter.empty else f" = {source.value(parameter.default)}"
        yield f"{stars}{name}: {source.taken(hints[name])}{default}"


if __name__ == "__main__":
    FILE.write_text(made(), "utf-8")
