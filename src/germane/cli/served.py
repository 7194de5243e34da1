"""Served agent: the agent of a server as commands use it, in place of the agent of a file (`--server`).

A command calls the same methods and gets the same values either way. Most of them are the client's own; the classes here have
those whose arguments or values differ from the library's, and `served_values.py` turns the values. Commands that need the file
don't come here: `app.py` names them.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from germane.api.builder.builder import Builder
from germane.cli.served_values import KEY_VARIABLE, LONGEST, CommandClient, ServedContext, about_of, build_over
from germane.errors import InvalidInput
from germane.kinds.documents.handle import FolderIngested, FoundFile, files_in, ingest_each, read_file, source_for, source_of
from germane.kinds.events.reads import MessagePage
from germane.kinds.memories.value import Memory

if TYPE_CHECKING:
    from germane.api.verbs.about import AboutEntity
    from germane.kinds.documents.value import Ingested
    from germane.kinds.memories.upkeep import Consolidated
    from germane.kinds.remote_values import RemoteDigest
    from germane.types.inventory import AgentPage
    from germane.types.reports import ExtractionRun, Why

Progress = Callable[[int, int], None]
"""Called by the library with what is done and what there is; a server doesn't tell."""

_HANDLES = ("blocks", "conversations", "events", "graph", "memories", "tasks")
_VERBS = (
    "audit",
    "build_context",
    "directive",
    "expand",
    "feedback",
    "find",
    "forget",
    "mark_line",
    "profile",
    "record",
    "remember",
    "search",
    "sessions",
    "stats",
    "texts",
    "users",
    "warm",
)
"""What the client has under the library's names, with its arguments and values."""


@asynccontextmanager
async def open_server(address: str, key_file: Path | None, **scope: Any) -> AsyncIterator[tuple[ServedStore, ServedAgent]]:
    """Yields the store and the agent of a server. `scope` are org, agent, user and zone. Connects at the first call. Raises
    `InvalidInput` for an address or a key file that can't be used, `MissingExtra` without the packages that it takes."""
    given, key = address.strip(), _key(key_file)
    client: AbstractAsyncContextManager[CommandClient]
    if given.partition("://")[0].lower() in ("http", "https"):
        from germane.cli.served_http import http_client

        client = http_client(given, key, scope)
    else:
        from germane.cli.served_grpc import grpc_client

        client = grpc_client(given, key, scope)
    async with client as opened:
        yield ServedStore(opened), ServedAgent(opened)


def _key(file: Path | None) -> str | None:
    """The API key of --key-file, else of the environment; None where there is neither."""
    if file is None:
        return os.environ.get(KEY_VARIABLE, "").strip() or None
    try:
        key = file.read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"--key-file {file} can't be read: {getattr(error, 'strerror', None) or 'not text'}") from None
    if not key or len(key.split()) > 1:
        raise InvalidInput(f"--key-file {file} must hold the API key alone, as germane keys create prints it")
    return key


class ServedStore:
    """What commands use of a `Germane` besides its agent."""

    def __init__(self, client: CommandClient) -> None:
        self._client = client

    def agent(self, agent: str, *, org: str, user: str | None = None, zone: str = "UTC") -> ServedAgent:
        """Returns the agent of another scope, over the same connection."""
        return ServedAgent(self._client.within(org=org, agent=agent, user=user, zone=zone))

    async def agents(self, org: str, *, limit: int = 50, cursor: str | None = None) -> AgentPage:
        return await self._client.within(org=org).agents(limit=limit, cursor=cursor)


class ServedAgent:
    """An agent of the server. The attributes in `_HANDLES` and `_VERBS` are the client's."""

    def __init__(self, client: CommandClient) -> None:
        self._client = client
        self._asked: Mapping[str, Any] = {}
        """The arguments of the last assembly."""

    def __getattr__(self, name: str) -> Any:
        if name in _HANDLES or name in _VERBS:
            return getattr(self._client, name)
        raise AttributeError(f"commands have no {name} over a server")

    @property
    def documents(self) -> ServedDocuments:
        return ServedDocuments(self._client.documents)

    def builder(self) -> Builder:
        return Builder(partial(build_over, self._client), zone=self._client.scope.zone)

    async def messages(self, session: str | None = None, *, whole: bool = True, **asked: Any) -> MessagePage:
        page = await self._client.messages(session, **asked)
        if not whole:
            return page
        found = [await self._client.find(one.id) if one.passage is not None else one for one in page.messages]
        return replace(page, messages=tuple(one for one in found if not isinstance(one, Memory)))

    async def about(self, name: str | None = None, **asked: Any) -> AboutEntity:
        return about_of(await self._client.about(name, **asked), asked["model"])

    async def consolidate(self, *, progress: Progress | None = None, **asked: Any) -> Consolidated:
        return await self._client.consolidate(**asked)

    async def digest(self, query: str, *, deadline: float | None, **asked: Any) -> RemoteDigest:
        return await self._client.digest(query, deadline=LONGEST if deadline is None else deadline, **asked)

    async def extract(self, *, progress: Progress | None = None, **asked: Any) -> ExtractionRun:
        return await self._client.extract(**asked)

    async def assemble(self, messages: list[Any], *, deadline: float | None, **asked: Any) -> ServedContext:
        """As `Agent.assemble`, but the trace stays on the server, which also bounds the time: `explain` has its text. Raises
        germane's errors, where an application's client would answer with its own messages."""
        self._asked = {"messages": messages, "deadline": LONGEST if deadline is None else deadline, **asked}
        return await self._client.context(messages, deadline, asked)

    async def why(self, id: str, context: ServedContext, *, session: str | None = None) -> Why:
        """The server assembles anew what the last assembly was asked for."""
        return await self._client.why(id, **self._asked)


class ServedDocuments:
    """The documents of the server. Files are read here, and sent."""

    def __init__(self, documents: Any) -> None:
        self.list, self.get, self._ingest = documents.list, documents.get, documents.ingest

    async def ingest(self, path: str | None = None, *, progress: Progress | None = None, **given: Any) -> Ingested:
        if path is None:
            stored: Ingested = await self._ingest(**given)
            return stored
        try:
            return await self._sent(Path(path), **given)
        except InvalidInput as error:
            raise error.under(path) from None

    async def ingest_folder(
        self, folder: str, *, source: str | None = None, progress: Progress, **given: Any
    ) -> FolderIngested:
        async def sent(file: FoundFile, _: Progress | None) -> Ingested:
            named = None if source is None else f"{source}/{file.name}"
            return await self._sent(file.path, source=named, title=file.name, **given)

        return await ingest_each(*files_in(Path(folder)), sent, progress)

    async def _sent(self, file: Path, *, source: str | None, title: str | None = None, **given: Any) -> Ingested:
        data = read_file(file)
        stored: Ingested = await self._ingest(
            data=data, source=source_of(file, source), title=source_for(title or file.name), **given
        )
        return stored
