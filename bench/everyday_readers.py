"""Everyday readers: the functions that read what people type about themselves, for `bench/readers.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from types import MappingProxyType

from germane.extraction.llm.prompt import KnownStatement
from germane.extraction.memories.ending_forms import said_words
from germane.extraction.memories.endings import find_endings, restating_terms
from germane.extraction.memories.statements import find_corrections
from germane.kinds.profile.telling import telling_clauses, word_tokens
from germane.text.clauses import clauses, lower_words, only_always, read_cues

__all__ = ["EVERYDAY_READERS", "EVERYDAY_UNREAD"]


def _known(text: str) -> KnownStatement:
    return KnownStatement(id="k", kind="fact", text=text, said_at=datetime(2026, 1, 1, tzinfo=UTC))


EVERYDAY_READERS: Mapping[str, Callable[[str], object]] = MappingProxyType(
    {
        "extraction.memories.statements.find_corrections": lambda text: [
            find_corrections(one) for one in (text, f"no, it's {text}, not {text}")
        ],
        "extraction.memories.ending_forms.said_words": lambda text: list(said_words(text)),
        "extraction.memories.endings.find_endings": lambda text: [find_endings(one) for one in (text, f"I no longer {text}")],
        "extraction.memories.endings.restating_terms": lambda text: restating_terms(
            f"not {text} on Monday", find_endings(f"I quit {text}")
        ),
        "extraction.llm.prompt.KnownStatement.is_kept_by": lambda text: _known(text).is_kept_by(f"{text} not", "fact"),
        "kinds.profile.telling.telling_clauses": lambda text: [telling_clauses(one) for one in (text, f"from now on {text}")],
        "text.clauses.clauses": clauses,
        "kinds.profile.telling.word_tokens": word_tokens,
        "text.clauses.lower_words": lower_words,
        "text.clauses.only_always": lambda text: [
            only_always(one) for one in (text, "always " * (len(text) // 7), "以后" * (len(text) // 2))
        ],
        "text.clauses.read_cues": read_cues,
    }
)
_WORD, _KEY, _ID = "compares a word with a list", "a fact's key, of at most 200 characters", "an id"
EVERYDAY_UNREAD: Mapping[str, str] = MappingProxyType(
    {
        "extraction.messages.corrections_of": "a message's id; reads what extraction.memories.statements found",
        "kinds.events.reads.SaidBefore.and_then": "reads a message of at most 2,000 characters",
        "kinds.events.reads.SaidBefore.restated_by": "a speaker's name, compared",
        "extraction.memories.plans.SaidEnding.as_memory": "puts the text in and doesn't read it",
        "extraction.memories.endings.how_meant": "compares the words of a memory of at most 2,000 characters",
        "extraction.memories.endings.opposite": "compares the words of two statements of at most 300 characters",
        "extraction.memories.ending_forms.EndingLanguage.without": _WORD,
        "extraction.memories.ending_forms.WordList.has": _WORD,
        "extraction.memories.extracted.extracted_memory": "makes a memory, as kinds.memories.plans.new_memory does",
        "extraction.memories.statements.canonical_key": _KEY,
        "extraction.memories.statements.same_keys": _KEY,
        "extraction.memories.statements.speaks_of": _KEY,
        "extraction.memories.extracted.PendingMemories.ended_by": _ID,
        "extraction.memories.extracted.PendingMemories.outdate": _ID,
        "extraction.memories.extracted.PendingMemories.timeline": _KEY,
        "stages.write.formats.Digest.further": "returns None",
        "stages.write.layout.Grammar.further": "a protocol",
        "stages.write.markdown.Markdown.further": "returns None",
        "stages.write.xml.Xml.further": "returns None",
        "stages.gather.about.is_oneself": "a name, of at most 256 characters",
        "stages.gather.about.person_asked_for": "a name, of at most 256 characters",
        "stages.read.past_forms.Language.is_own": _WORD,
        "stages.read.past_forms.Language.is_past": _WORD,
        "text.days.dates.shifted": "a number and a unit, as written",
        "text.demands.PhraseRules.lasting": "a sentence of at most 400 characters, as find looks at it",
    }
)
