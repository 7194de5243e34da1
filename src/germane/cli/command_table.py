"""Command table: the commands of `germane` with what the help says of each, and the module of each, imported when it runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from types import MappingProxyType
from typing import Any

import typer

from germane.cli.help_texts import with_readable_values

__all__ = ["COMMANDS", "CommandTable", "print_commands"]

COMMANDS: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "demo": ("demo:demo", "Show how germane works, on a sample or your own conversation."),
        "remember": ("remember:remember", "Store one memory: a note, a fact, a preference and so on."),
        "record": ("record:record", "Store the messages of a conversation."),
        "search": ("search:search", "Search memories and messages."),
        "assemble": ("assemble:assemble", "Print a request's messages with the context for the model."),
        "about": ("about:about", "Print all that is known about a name, what holds now first."),
        "build": ("build:build", "Print a whole request: prompt, blocks, tools, history."),
        "compact": ("compact:compact", "Make a long conversation fit a model's window."),
        "digest": ("digest:digest", "Print the memories that matter for a question, as a list."),
        "explain": ("explain:explain", "Assemble, and print why each candidate went in or was left out."),
        "list": ("list_memories:list_memories", "List the memories."),
        "show": ("show:show", "Print everything of one memory, message or handle."),
        "update": ("update:update", "Correct a memory."),
        "profile": ("profile:app", "Print what always stands for a user; pin and hide lines."),
        "history": ("history:history", "Print what a memory superseded, and what superseded it."),
        "messages": ("messages:messages", "Print the recorded messages."),
        "sessions": ("messages:sessions", "List the conversations."),
        "outline": ("outline:outline", "Print what a conversation was about, line by line."),
        "users": ("users:users", "List the users of the agent."),
        "agents": ("users:agents", "List the agents of the organisation."),
        "orgs": ("users:orgs", "List the organisations of the store."),
        "stats": ("stats:stats", "Count what is stored."),
        "feedback": ("feedback:feedback", "Mark memories as helpful or harmful."),
        "review": ("review:review", "List memories that contradict each other, and decide."),
        "forget": ("forget:forget", "Erase memories and messages for good."),
        "audit": ("audit:audit", "List duplicates, contradictions, secrets, what is unused."),
        "consolidate": ("consolidate:consolidate", "Bring the memories within a storage budget."),
        "directive": ("directive:directive", "Set or print an agent's standing instructions."),
        "ingest": ("ingest:ingest", "Store files and folders as documents."),
        "documents": ("documents:documents", "List the documents, or print one."),
        "import": ("import_files:import_files", "Import an export, conversations, or another product's memories."),
        "serve": ("serve:serve", "Run the service: gRPC, with health and metrics over HTTP."),
        "export": ("export:export", "Write all data of an agent, an org or the store as JSON Lines."),
        "backup": ("backup:backup", "Copy the store while it is in use."),
        "extract": ("extract:extract", "Have a language model read the conversations that wait."),
        "doctor": ("doctor:doctor", "Check the health of the store."),
        "pseudonym": ("pseudonym:pseudonym", "Print the pseudonym of an id in the service's log."),
        "reembed": ("reembed:reembed", "Compute the missing vectors after a change of embedder."),
        "block": ("block:app", "Make, read, edit and share memory blocks."),
        "event": ("event:app", "Record and list what an agent did."),
        "entity": ("entity:app", "Keep people, places, things, and how they relate."),
        "task": ("task:app", "Keep what an agent is doing as a stack of tasks."),
        "eval": ("eval:app", "Measure recall and latency on labelled conversations."),
        "keys": ("keys:app", "Create, list and revoke the API keys of a served store."),
    }
)
"""Name → where the command is, as `module:function` or `module:group` in `commands/`, and its line in `germane --help`."""

_EPILOG = "The options of all commands, such as --db, --user and --json: germane --help"


class CommandTable(Mapping[str, Any]):
    """The commands by their names, as click's commands. To look one up imports its module; names import nothing."""

    def __getitem__(self, name: str) -> Any:
        place, _ = COMMANDS[name]
        module, _, attribute = place.partition(":")
        found = getattr(import_module(f"germane.cli.commands.{module}"), attribute)
        holder = typer.Typer(pretty_exceptions_enable=False, rich_markup_mode=None)
        if isinstance(found, typer.Typer):
            for inner in found.registered_commands:
                inner.epilog = _EPILOG
            holder.add_typer(found, name=name)
        else:
            holder.command(name, epilog=_EPILOG)(found)
        return with_readable_values(typer.main.get_group(holder).commands[name])

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


def print_commands(formatter: Any) -> None:
    """Write the names of the commands, each with its line, as click's formatter does."""
    with formatter.section("Commands"):
        formatter.write_dl([(name, line) for name, (_, line) in COMMANDS.items()])
