"""Causes: causal relations between events of a coding session: which command an error came from, and which edit ended it.

Conservative. A fix is claimed only where the same command failed and later succeeded, with an edit or another command in
between: of several edits each is named, with less confidence.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from germane.archetypes.findings import Findings, PatternHint, states
from germane.archetypes.reading import command_of, error_of, is_failure, is_success
from germane.events.event import Event
from germane.events.wording import action_of, content_of, path_of
from germane.graph.findings import EntityName
from germane.text.normal import fold

__all__ = ["causes", "fixes"]

_NO_WORD = re.compile(r"\W+")
_NEAR = 4
"""Events before an error among which the command that it came from is looked for."""
_MAX_EDITS = 3
"""Files that may have been edited between a failure and a success for one of them to be called the fix."""
_COMMON = frozenset({"error", "errors", "exception", "failed", "failure", "fatal", "file", "found", "line", "name", "warning"})
"""Words of many errors, which don't tell one from another."""
_MAX_WORDS = 6
_MIN_WORD = 4
"""Keywords of a pattern, and their least length in characters."""


def causes(event: Event, before: Sequence[Event]) -> Findings:
    """A command causes the error that its output shows, or that is recorded right after it failed."""
    error = error_of(event)
    command = command_of(event)
    if not error:
        return Findings()
    if action_of(event.type) == "error":
        near = [one for one in before[-_NEAR:] if one.task == event.task and command_of(one)]
        if not near or is_success(near[-1]):
            return Findings()
        command = command_of(near[-1])
    if not command:
        return Findings()
    cause = states(EntityName("command", command), "causes", EntityName("error", error), 0.8)
    return Findings(relations=(cause,))


def fixes(event: Event, before: Sequence[Event]) -> Findings:
    """What was edited or run between a failure of a command and its first success fixes the error, and is a pattern for the
    next time. Where the command fails with the same error again, the same action counts as tried without success."""
    command = command_of(event)
    if not command or not (is_success(event) or is_failure(event)):
        return Findings()
    same = [index for index, one in enumerate(before) if command_of(one) == command and one.task == event.task]
    if not same or not is_failure(before[same[-1]]):
        return Findings()
    start = same[-1]
    between = [one for one in before[start + 1 :] if one.task == event.task]
    error = error_of(before[start]) or next((error_of(one) for one in between if action_of(one.type) == "error"), "")
    files = list(dict.fromkeys(path for one in between if (path := _edited(one))))
    ran = list(dict.fromkeys(command_of(one) for one in between if is_success(one) and command_of(one)))
    if not error or len(files) > _MAX_EDITS or not (files or ran):
        return Findings()
    if is_failure(event):
        if error_of(event) != error:
            return Findings()
        return Findings(patterns=(_hint(error, command, files, ran, succeeded=False),))
    sure = 0.8 if len(files) + len(ran) == 1 else 0.5
    ended = [
        states(source, "fixes", EntityName("error", error), sure)
        for source in ([EntityName("file", file) for file in files] or [EntityName("command", one) for one in ran[-1:]])
    ]
    return Findings(relations=tuple(ended), patterns=(_hint(error, command, files, ran, succeeded=True),))


def _edited(event: Event) -> str:
    if action_of(event.type) not in ("write", "edit"):
        return ""
    path = path_of(content_of(event.raw)) or event.text.partition("\n")[0].partition(": ")[2]
    return " ".join(path[:256].split()).replace("\\", "/").removeprefix("./")


def _hint(error: str, command: str, files: Sequence[str], ran: Sequence[str], *, succeeded: bool) -> PatternHint:
    done = f"edit {', '.join(files)}" if files else f"run `{ran[-1]}`"
    found = [
        word
        for word in dict.fromkeys(_NO_WORD.split(fold(error)))
        if len(word) >= _MIN_WORD and not word.isdigit() and word not in _COMMON
    ]
    return PatternHint(
        action=f"After {error}: {done}, then `{command}`",
        keywords=tuple(found[:_MAX_WORDS]),
        intent="fix",
        succeeded=succeeded,
    )
