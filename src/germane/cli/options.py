"""Options: the options that every command has, groups of options that several commands share, and spans of time.

Every command has the global options, such as --db, --user and --json. `FilterOptions` narrow a search (--since, --until,
--kind, --tag, --allow).
"""

from __future__ import annotations

import asyncio
import inspect
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager
from dataclasses import MISSING, dataclass, fields, is_dataclass
from datetime import datetime, timedelta
from functools import wraps
from inspect import Parameter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, cast, get_args, get_type_hints

import typer

from germane.cli.screen import told_progress
from germane.clock import aware
from germane.errors import InvalidInput, StoreUnavailable
from germane.types.checks import check_one_of

if TYPE_CHECKING:
    from germane.api.agent import Agent
    from germane.api.germane import Germane
    from germane.types.query import Filters


T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class GlobalOptions:
    """The global options of one run. `explicit` is true where `db` was given on the command line (not by the environment).
    `server` is the address of a server whose store is used in place of `db`. `named` are those of `org`, `agent` and `user`
    that were given. `typed` are the words of the command line without these, for a hint that says what to type."""

    db: Path
    explicit: bool = False
    server: str | None = None
    key_file: Path | None = None
    org: str = "default"
    agent: str = "default"
    user: str | None = None
    named: frozenset[str] = frozenset()
    typed: tuple[str, ...] = ()
    zone: str = "UTC"
    embedder: str | None = None
    secrets: str | None = None
    settings: Path | None = None
    json: bool = False

    @asynccontextmanager
    async def open_store(
        self, *, create: bool = False, warm: bool = False, upgrade: bool = True
    ) -> AsyncIterator[tuple[Germane, Agent]]:
        """Open the database; yields the engine and the agent. A command that assembles opens it `warm`. A store of an earlier
        version is upgraded first, unless `upgrade` is false. With a `server`, yields what stands for the two there, with the
        methods that commands over a server use (`served.py`).

        Raises `StoreUnavailable` where the file is missing and `create` is false: a mistyped name must not look like an empty
        store."""
        if self.server is not None:
            from germane.cli.served import open_server

            scope = {"org": self.org, "agent": self.agent, "user": self.user, "zone": self.zone}
            async with open_server(self.server, self.key_file, **scope) as there:
                yield cast("tuple[Germane, Agent]", there)
            return
        if self.db.is_dir():
            raise StoreUnavailable(f"{self.db} is a directory (give a file with --db)")
        if not create and not self.db.exists():
            raise StoreUnavailable(
                f"no database at {self.db} (name it with --db, or begin one with germane import or remember)"
            )
        if create and not self.db.parent.is_dir():
            raise StoreUnavailable(f"no directory {self.db.parent} for the database (create it first)")
        from germane.api.germane import Germane

        secrets: Any = self.secrets  # checked on opening
        opened = Germane.open(self.db, settings=self.settings, embedder=self.embedder, warm=warm, secrets=secrets)
        async with opened as germane:
            if upgrade:
                with told_progress("dividing long texts of an earlier version", self.json) as told:
                    await germane.upgrade(told)
            yield germane, germane.agent(self.agent, org=self.org, user=self.user, zone=self.zone)

    @property
    def place(self) -> str:
        """Where the store is, in words."""
        return str(self.db) if self.server is None else f"the store of {self.server}"

    def agent_wide(self, germane: Germane) -> Agent:
        """The same agent without a user: its scope holds what all users share."""
        return germane.agent(self.agent, org=self.org, zone=self.zone)

    def parse_time(self, text: str | None, option: str) -> datetime | None:
        """Parse the ISO 8601 time of `option`; a time without a zone is in `zone`. Returns UTC. Raises `InvalidInput`."""
        if text is None:
            return None
        try:
            return aware(datetime.fromisoformat(text), self.zone)
        except ValueError:
            raise InvalidInput(f"{option} must be an ISO 8601 time such as 2025-05-03T10:40, not {text[:40]!r}") from None


def options_of(context: typer.Context) -> GlobalOptions:
    """The global options of the run that `context` belongs to."""
    options = context.obj
    assert isinstance(options, GlobalOptions)
    return options


def ask(options: GlobalOptions, work: Callable[[Agent], Awaitable[T]], *, create: bool = False, warm: bool = False) -> T:
    """Opens the store as `open_store` does, and returns what `work` returns for the agent."""

    async def asked() -> T:
        async with options.open_store(create=create, warm=warm) as (_, agent):
            return await work(agent)

    return run_async(asked())


def run_async(work: Coroutine[Any, Any, T]) -> T:
    """Run a command's coroutine to its end; on an interrupt the store is closed before `KeyboardInterrupt` is raised."""
    return asyncio.run(work)


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterOptions:
    """The options as typed. A command takes them with `option_groups.expand_groups`."""

    since: Annotated[str | None, typer.Option(help="Only items from this time on (ISO 8601).")] = None
    until: Annotated[str | None, typer.Option(help="Only items up to this time (ISO 8601).")] = None
    kind: Annotated[list[str] | None, typer.Option(help="Only memories of this kind (may be repeated).")] = None
    tag: Annotated[list[str] | None, typer.Option(help="Only memories with this tag (may be repeated).")] = None
    allow: Annotated[
        list[str] | None,
        typer.Option(
            help="Only items of this sensitivity: public, private or sensitive (may be repeated).  [default: public, private]"
        ),
    ] = None

    def filters(self, options: GlobalOptions) -> Filters:
        """Returns the filters of a query. Raises `InvalidInput` for an unreadable time, an unknown kind or sensitivity."""
        from germane.kinds.memories.value import KINDS
        from germane.types.candidate import Sensitivity
        from germane.types.query import Filters

        levels: tuple[Any, ...] = tuple(known("--allow", name, get_args(Sensitivity)) for name in self.allow or ())
        return Filters(
            since=options.parse_time(self.since, "--since"),
            until=options.parse_time(self.until, "--until"),
            kinds=tuple(known("--kind", name, tuple(KINDS)) for name in self.kind) if self.kind else None,
            tags=tuple(self.tag) if self.tag else None,
            sensitivities=levels or Filters().sensitivities,
        )


def known(option: str, name: str, names: tuple[str, ...]) -> str:
    """Returns `name`. Raises `InvalidInput`, with the known names, where it is none of them."""
    return check_one_of(option, name, names)


def json_or_text(value: str) -> Any:
    """Returns the JSON value that a text is, or the text."""
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


# Several commands share options by taking a dataclass as a parameter. Typer reads the options of a command from the
# signature of its function. `expand_groups` puts the fields of the dataclass into that signature, one option for each
# field, and builds the dataclass again when the command runs.


def expand_groups(command: Callable[..., None]) -> Callable[..., None]:
    """Decorator: replaces each parameter of `command` that is a dataclass by the dataclass's fields.

    A field is annotated as typer expects a parameter, `Annotated[type, typer.Option(…)]`, and has a default. A field that is a
    dataclass itself is replaced in the same way."""
    hints = get_type_hints(command, include_extras=True)
    groups = {name: hint for name, hint in hints.items() if is_dataclass(hint)}

    @wraps(command)
    def with_groups(**options: Any) -> None:
        command(**{name: _build(group, options) for name, group in groups.items()}, **options)

    parameters: list[Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        if name in groups:
            parameters += _parameters(groups[name])
        else:
            parameters.append(parameter.replace(annotation=hints[name], kind=Parameter.KEYWORD_ONLY))
    with_groups.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    with_groups.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return with_groups


def _parameters(group: Any) -> Iterator[Parameter]:
    hints = get_type_hints(group, include_extras=True)
    for field in fields(group):
        if is_dataclass(hint := hints[field.name]):
            yield from _parameters(hint)
        else:
            default = Parameter.empty if field.default is MISSING else field.default
            yield Parameter(field.name, Parameter.KEYWORD_ONLY, default=default, annotation=hint)


def _build(group: Any, options: dict[str, Any]) -> Any:
    """An instance of `group`. Removes the group's fields from `options`."""
    hints = get_type_hints(group)
    return group(
        **{
            field.name: _build(hint, options) if is_dataclass(hint := hints[field.name]) else options.pop(field.name)
            for field in fields(group)
        }
    )


_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_PART = re.compile(r"(\d{1,9})([smhdw])")


def duration(text: str, option: str) -> timedelta:
    """Parse whole numbers with the units s, m (minutes), h, d and w, in any order, each unit at most once.

    Raises `InvalidInput`, which names `option`."""
    normalised = text.strip().lower()
    parts = _PART.findall(normalised)
    units = [_UNITS[unit] for _, unit in parts]
    if not parts or "".join(number + unit for number, unit in parts) != normalised or len(set(units)) < len(units):
        hint = "a number needs a unit" if normalised.isdecimal() else "units are s, m, h, d and w"
        raise InvalidInput(f"{option} must be a duration such as 30m, 24h or 90d, not {text[:40]!r} ({hint})")
    try:
        return timedelta(**{unit: int(number) for unit, (number, _) in zip(units, parts, strict=True)})
    except OverflowError:
        raise InvalidInput(f"{option} of {text[:40]} is too long (90d is three months)") from None
