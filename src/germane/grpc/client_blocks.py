"""Client blocks: the memory blocks of the asyncio client's scope, as `client.blocks`."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine
from functools import update_wrapper
from typing import Any, Concatenate, ParamSpec, TypeVar

from germane.grpc.calling import archive_rpcs, block_folder_rpcs, block_rpcs
from germane.grpc.calling.assemble_call import ClientScope
from germane.grpc.calling.rpcs import ClientRpc

__all__ = ["ClientBlocks"]

P = ParamSpec("P")
T = TypeVar("T")


def _raises(
    make_rpc: Callable[Concatenate[ClientScope, P], ClientRpc[T]],
) -> Callable[Concatenate[ClientBlocks, P], Coroutine[Any, Any, T]]:
    """Makes a method that runs the RPC. It raises germane's errors, `StoreUnavailable` where the service doesn't answer."""

    async def method(self: ClientBlocks, /, *args: P.args, **kwargs: P.kwargs) -> T:
        answer: T = await self._run(make_rpc(self._scope, *args, **kwargs))
        return answer

    update_wrapper(method, make_rpc)
    return method


class ClientBlocks:
    """The methods of `germane.Agent.blocks`, with the same arguments and values, but for `subscribe`."""

    def __init__(self, scope: ClientScope, run: Callable[[ClientRpc[Any]], Awaitable[Any]]) -> None:
        self._scope, self._run = scope, run

    create = _raises(block_rpcs.create)
    get = _raises(block_rpcs.get)
    value = _raises(block_rpcs.value)
    list = _raises(block_rpcs.list_blocks)
    edit = _raises(block_rpcs.edit)
    set_text = _raises(block_rpcs.set_text)
    append = _raises(block_rpcs.append)
    replace = _raises(block_rpcs.replace)
    undo = _raises(block_rpcs.undo)
    redo = _raises(block_rpcs.redo)
    history = _raises(block_rpcs.history)
    show_version = _raises(block_rpcs.show_version)
    pin = _raises(block_rpcs.pin)
    change = _raises(block_rpcs.change)
    delete = _raises(block_rpcs.delete)
    rename_folder = _raises(block_folder_rpcs.rename_folder)
    delete_folder = _raises(block_folder_rpcs.delete_folder)
    restore = _raises(block_rpcs.restore)
    share = _raises(block_rpcs.share)
    unshare = _raises(block_rpcs.unshare)
    shares = _raises(block_rpcs.shares)
    consents = _raises(block_rpcs.consents)
    approve = _raises(block_rpcs.approve)
    deny = _raises(block_rpcs.deny)
    archive = _raises(archive_rpcs.archive)
    entry = _raises(archive_rpcs.entry)
    search = _raises(archive_rpcs.search)
    search_archive = _raises(archive_rpcs.search_archive)
    delete_entry = _raises(archive_rpcs.delete_entry)
