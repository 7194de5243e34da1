"""Intent: classifies the kind of help that a request asks for (SIG-2), by whole words: `debug` isn't `bug`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from germane.pipeline.signals.word_set import lacks_all
from germane.text.traits import is_question
from germane.types.query import Intent

__all__ = ["EVENT_TYPES", "intent"]

EVENT_TYPES: Mapping[Intent, tuple[str, ...]] = MappingProxyType(
    {
        "fix": ("error", "shell_exec", "file_edit", "file_write"),
        "explain": ("file_read", "search", "assistant_message"),
        "question": ("user_message", "assistant_message", "search"),
        "action": ("file_write", "file_edit", "shell_exec"),
        "other": (),
    }
)
"""The event types that matter to each intent, by default."""

_FIX = re.compile(
    r"\b(?:fix|fixes|fixed|fixing|bug|bugs|buggy|errors?|exceptions?|traceback|stack ?trace|crash|crashes|crashed|crashing"
    r"|broken|failing|fails|failed|failure|repair|troubleshoot|segfault"
    r"|(?:does|did|is|was)(?:n['’]t| not) work(?:ing)?|not working)\b",
    re.IGNORECASE,
)
_EXPLAIN = re.compile(
    r"\b(?:explain|explains|explained|explanation|describe|clarify|elaborate|walk me through|help me understand|how come"
    r"|what(?:['’]s| is) the (?:difference|meaning|purpose|point)|what (?:does|do|is) .{1,80}? (?:mean|means|meant|for)\b"
    r"|how (?:do|does|did|is|are) .{1,80}? (?:work|works|worked|implemented|built|structured))\b",
    re.IGNORECASE,
)
_VERBS = (
    "add|append|apply|book|build|call|cancel|change|clean|commit|configure|convert|copy|create|delete|deploy|draft|edit|enable"
    "|disable|execute|export|generate|implement|import|insert|install|invite|launch|make|merge|migrate|move|open|order|plan"
    "|prepare|publish|push|put|refactor|remind|remove|rename|replace|reply|reset|restart|revert|rewrite|run|save|schedule"
    "|send|set|start|stop|submit|test|translate|turn|update|upgrade|upload|write"
)
_ACTION = re.compile(
    rf"(?:^|[.!;]\s*+|(?<!\s)[^\S\n]*+\n\s*+|,\s*+(?:and |then )?|\b(?:and|then) )"
    rf"(?:(?:ok(?:ay)?|now|then|so|please|also|next|hey|hi)[ ,]++){{0,3}}"
    rf"(?:{_VERBS})\b"
    rf"|\b(?:please|can you|could you|would you|will you|let['’]?s|i want you to|i need you to|i['’]d like you to|you should"
    rf"|go ahead and)(?: (?:please|also|just|now|then)){{0,2}} (?:{_VERBS})\b",
    re.IGNORECASE,
)
_FIXING_WORDS = """
    fix fixes fixed fixing bug bugs buggy error errors exception exceptions traceback stack stacktrace crash crashes crashed
    crashing broken failing fails failed failure repair troubleshoot segfault work working
"""
_EXPLAINING_WORDS = "explain explains explained explanation describe clarify elaborate walk help how what"
_FIXING, _EXPLAINING = frozenset(_FIXING_WORDS.split()), frozenset(_EXPLAINING_WORDS.split())
_ACTING = frozenset(_VERBS.split("|"))
"""Words of which at least one must occur for a pattern to match."""
_ASKED_OF = re.compile(r"\s*+(?:[\w']++[, ]++){0,3}?(?:please|can you|could you|would you|will you|let['’]?s)\b", re.IGNORECASE)


def intent(text: str) -> Intent:
    """The first intent that matches: fix, explain, a polite request for an action, question, action; otherwise `other`."""
    if not lacks_all(text, _FIXING) and _FIX.search(text):
        return "fix"
    if not lacks_all(text, _EXPLAINING) and _EXPLAIN.search(text):
        return "explain"
    action = not lacks_all(text, _ACTING) and _ACTION.search(text) is not None
    if action and _ASKED_OF.match(text):
        return "action"
    if is_question(text) or "?" in text:
        return "question"
    return "action" if action else "other"
