"""Everyday readers: the functions that read what people type about themselves, for `bench/readers.py`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from types import MappingProxyType

from germane.memories.extraction.corrections import find_corrections
from germane.memories.extraction.ending_forms import said_words
from germane.memories.extraction.endings import find_endings
from germane.memories.extraction.restating import restating_terms
from germane.memories.llm_extraction.known import KnownStatement
from germane.profile.telling import telling_clauses
from germane.profile.telling_words import word_tokens
from germane.text.clauses import clauses
from germane.text.cues import lower_words, only_always, read_cues

__all__ = ["EVERYDAY_READERS", "EVERYDAY_UNREAD"]


def _known(text: str) -> KnownStatement:
    return KnownStatement(id="k", kind="fact", text=text, said_at=datetime(2026, 1, 1, tzinfo=UTC))


EVERYDAY_READERS: Mapping[str, Callable[[str], object]] = MappingProxyType(
    {
        "memories.extraction.corrections.find_corrections": lambda text: [
            find_corrections(one) for one in (text, f"no, it's {text}, not {text}")
        ],
        "memories.extraction.ending_forms.said_words": lambda text: list(said_words(text)),
        "memories.extraction.endings.find_endings": lambda text: [find_endings(one) for one in (text, f"I no longer {text}")],
        "memories.extraction.restating.restating_terms": lambda text: restating_terms(
            f"not {text} on Monday", find_endings(f"I quit {text}")
        ),
        "memories.llm_extraction.known.KnownStatement.is_kept_by": lambda text: _known(text).is_kept_by(f"{text} not", "fact"),
        "profile.telling.telling_clauses": lambda text: [telling_clauses(one) for one in (text, f"from now on {text}")],
        "text.clauses.clauses": clauses,
        "profile.telling_words.word_tokens": word_tokens,
        "text.cues.lower_words": lower_words,
        "text.cues.only_always": lambda text: [
            only_always(one) for one in (text, "always " * (len(text) // 7), "以后" * (len(text) // 2))
        ],
        "text.cues.read_cues": read_cues,
    }
)
_WORD, _KEY, _ID = "compares a word with a list", "a fact's key, of at most 200 characters", "an id"
EVERYDAY_UNREAD: Mapping[str, str] = MappingProxyType(
    {
        "events.extracting.corrections_of": "a message's id; reads what memories.extraction.corrections found",
        "events.said_before.SaidBefore.and_then": "reads a message of at most 2,000 characters",
        "events.said_before.SaidBefore.restated_by": "a speaker's name, compared",
        "memories.extraction.end_found.SaidEnding.as_memory": "puts the text in and doesn't read it",
        "memories.extraction.ended_by.how_meant": "compares the words of a memory of at most 2,000 characters",
        "memories.extraction.ended_by.opposite": "compares the words of two statements of at most 300 characters",
        "memories.extraction.ending_forms.EndingLanguage.without": _WORD,
        "memories.extraction.ending_forms.WordList.has": _WORD,
        "memories.extraction.extracted.extracted_memory": "makes a memory, as memories.remember.new_memory does",
        "memories.extraction.keys.canonical_key": _KEY,
        "memories.extraction.keys.same_keys": _KEY,
        "memories.extraction.keys.speaks_of": _KEY,
        "memories.extraction.pending_memories.PendingMemories.ended_by": _ID,
        "memories.extraction.pending_memories.PendingMemories.outdate": _ID,
        "memories.extraction.pending_memories.PendingMemories.timeline": _KEY,
        "pipeline.format.digest.Digest.further": "returns None",
        "pipeline.format.layout.Grammar.further": "a protocol",
        "pipeline.format.markdown.Markdown.further": "returns None",
        "pipeline.format.xml.Xml.further": "returns None",
        "pipeline.gather.about_person.is_oneself": "a name, of at most 256 characters",
        "pipeline.gather.about_person.person_asked_for": "a name, of at most 256 characters",
        "pipeline.signals.past_forms.Tongue.is_own": _WORD,
        "pipeline.signals.past_forms.Tongue.is_past": _WORD,
        "text.days.relative.shifted": "a number and a unit, as written",
        "text.demands.phrase_rules.PhraseRules.lasting": "a sentence of at most 400 characters, as find looks at it",
    }
)
