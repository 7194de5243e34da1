"""Client: the asyncio client of the service, whose `assemble` answers in time and never raises.

    async with Client("127.0.0.1:7411", org="acme", agent="support") as client:
        answer = await client.assemble(messages, model="gpt-4o", user="caroline")

Whatever goes wrong in `assemble`, the answer holds the caller's own messages and a reason: `grpc_error:<CODE>` for a gRPC
status, `client_error:<what>` for a failure inside the client, `client_breaker_open` while calls are stopped because the
server hangs. Only the cancellation of the caller's own task and the interpreter's exit exceptions pass through. The client
never retries. The other methods raise germane's errors.

One client serves one event loop and any number of tasks; `germane.grpc.blocking` has the same client for threads. Neither
loads the engine, a store, or numpy.
"""

from __future__ import annotations

from germane.grpc.client import (
    assembly,
    block_rpcs,
    build_rpcs,
    compose_rpcs,
    document_rpcs,
    event_rpcs,
    graph_rpcs,
    history_rpcs,
    memory_rpcs,
    rpcs,
)
from germane.grpc.client.asyncio_calls import ClientCalls, ClientPart, never_raises, part_method, raises
from germane.grpc.client.handles import ClientVerbs


class ClientEvents(ClientPart):
    """The methods of `germane.Agent.events`, with the same arguments and values; long texts in a list are cut."""

    record = part_method(event_rpcs.record)
    record_many = part_method(event_rpcs.record_many)
    list = part_method(event_rpcs.list_events)
    highlights = part_method(event_rpcs.highlights)


class ClientDocuments(ClientPart):
    """The methods of `germane.Agent.documents`, with the same arguments and values, but for paths and folders."""

    ingest = part_method(document_rpcs.ingest)
    get = part_method(document_rpcs.get)
    list = part_method(document_rpcs.list_documents)
    forget = part_method(document_rpcs.forget)


class ClientHistory(ClientPart):
    """The methods of `germane.Agent.history`. Called itself, it returns what a memory superseded and what superseded it."""

    __call__ = part_method(memory_rpcs.history)
    compact = part_method(history_rpcs.compact)
    show = part_method(history_rpcs.show)
    rebuild = part_method(history_rpcs.rebuild)
    outline = part_method(history_rpcs.outline)
    summaries = part_method(history_rpcs.summaries)


class ClientPatterns(ClientPart):
    """The methods of `germane.Agent.graph.patterns`."""

    learn = part_method(graph_rpcs.learn)
    match = part_method(graph_rpcs.match)
    apply_result = part_method(graph_rpcs.apply_result)


class ClientGraph(ClientPart):
    """The methods of `germane.Agent.graph`, but for `salient`, `mentions` and `chain`, with the same arguments and values."""

    add = part_method(graph_rpcs.add)
    get = part_method(graph_rpcs.get)
    find = part_method(graph_rpcs.find)
    list = part_method(graph_rpcs.list_entities)
    relate = part_method(graph_rpcs.relate)
    unrelate = part_method(graph_rpcs.unrelate)
    relations = part_method(graph_rpcs.relations)
    traverse = part_method(graph_rpcs.traverse)
    salient = part_method(graph_rpcs.salient)
    chain = part_method(graph_rpcs.chain)
    path = part_method(graph_rpcs.path)
    merge = part_method(graph_rpcs.merge)
    forget = part_method(graph_rpcs.forget)

    @property
    def patterns(self) -> ClientPatterns:
        """What worked before."""
        return ClientPatterns(self._scope, self._run)


class ClientBlocks(ClientPart):
    """The methods of `germane.Agent.blocks`, with the same arguments and values, but for `subscribe`."""

    create = part_method(block_rpcs.create)
    get = part_method(block_rpcs.get)
    value = part_method(block_rpcs.value)
    list = part_method(block_rpcs.list_blocks)
    edit = part_method(block_rpcs.edit)
    set_text = part_method(block_rpcs.set_text)
    append = part_method(block_rpcs.append)
    replace = part_method(block_rpcs.replace)
    undo = part_method(block_rpcs.undo)
    redo = part_method(block_rpcs.redo)
    history = part_method(block_rpcs.history)
    show_version = part_method(block_rpcs.show_version)
    pin = part_method(block_rpcs.pin)
    change = part_method(block_rpcs.change)
    delete = part_method(block_rpcs.delete)
    rename_folder = part_method(block_rpcs.rename_folder)
    delete_folder = part_method(block_rpcs.delete_folder)
    restore = part_method(block_rpcs.restore)
    share = part_method(block_rpcs.share)
    unshare = part_method(block_rpcs.unshare)
    shares = part_method(block_rpcs.shares)
    consents = part_method(block_rpcs.consents)
    approve = part_method(block_rpcs.approve)
    deny = part_method(block_rpcs.deny)
    archive = part_method(block_rpcs.archive)
    entry = part_method(block_rpcs.entry)
    search = part_method(block_rpcs.search)
    search_archive = part_method(block_rpcs.search_archive)
    delete_entry = part_method(block_rpcs.delete_entry)


class Client(ClientCalls, ClientVerbs):
    """A client of the service at `target`, an address such as `127.0.0.1:7411`.

    `org`, `agent` and `user` are the scope of calls that don't name another. `zone` is the time zone of naive datetimes.
    `limit` bounds a call of `assemble` in seconds, with connecting and writing the request; `patience` bounds any other call.
    `key` is an API key. TLS is on with `tls`, `roots`, `certificate` (with `certificate_key`) or `server_name`; without TLS a
    key is sent to this machine only, unless `plaintext` allows other hosts too, for networks that are trusted or encrypt by
    themselves. After `breaker` calls in a row that hung, no call is made for `cooldown` seconds; 0 switches that off.

    Raises `InvalidInput` for an argument that can't be used. A server that can't be reached isn't an error here.
    """

    assemble = never_raises(assembly.assemble)
    record = raises(rpcs.record)
    remember = raises(rpcs.remember)
    search = raises(rpcs.search)
    forget = raises(rpcs.forget)
    feedback = raises(rpcs.feedback)
    directive = raises(rpcs.directive)
    memories = raises(memory_rpcs.memories)
    get = raises(memory_rpcs.get)
    find = raises(memory_rpcs.find)
    update = raises(memory_rpcs.update)
    messages = raises(memory_rpcs.messages)
    sessions = raises(memory_rpcs.sessions)
    users = raises(memory_rpcs.users)
    agents = raises(memory_rpcs.agents)
    why = raises(memory_rpcs.why)
    stats = raises(memory_rpcs.stats)
    check = raises(memory_rpcs.check)
    build = raises(build_rpcs.build)
    check_tool_calls = raises(build_rpcs.check_tool_calls)
    about = raises(compose_rpcs.about)
    build_context = raises(compose_rpcs.build_context)
    expand = raises(compose_rpcs.expand)
    compress = raises(compose_rpcs.compress)
    estimate_tokens = raises(compose_rpcs.estimate_tokens)

    @property
    def blocks(self) -> ClientBlocks:
        """The memory blocks of the client's scope."""
        return ClientBlocks(self.scope, self._run)

    @property
    def events(self) -> ClientEvents:
        """The typed events of the client's scope."""
        return ClientEvents(self.scope, self._run)

    @property
    def documents(self) -> ClientDocuments:
        """The documents of the client's scope."""
        return ClientDocuments(self.scope, self._run)

    @property
    def history(self) -> ClientHistory:
        """The long conversations of the client's scope; `history(id)` is the history of a memory."""
        return ClientHistory(self.scope, self._run)

    @property
    def graph(self) -> ClientGraph:
        """The entities, relations and patterns of the client's scope."""
        return ClientGraph(self.scope, self._run)
