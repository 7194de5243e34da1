"""Unread: the public functions that take a string and aren't measured by `bench/linear.py`, each with the reason."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from bench.graph_readers import GRAPH_UNREAD
from bench.request_readers import REQUEST_UNREAD

__all__ = ["UNREAD"]

_OF_CODE = "given by germane's own code"
UNREAD: Mapping[str, str] = MappingProxyType(
    {
        **REQUEST_UNREAD,
        **GRAPH_UNREAD,
        "catalog.bounded.CountedTokenizer.ceiling": "hands over to its tokenizer",
        "catalog.bounded.CountedTokenizer.count": "hands over to its tokenizer",
        "catalog.images.price": "a rule of the catalog's, checked when it is read",
        "catalog.unknown_model.log_once": "writes catalog.unknown_model.warning",
        "dialects.merging.merge_by_role": _OF_CODE,
        "dialects.plain.sent": _OF_CODE,
        "dialects.registry.dialect": "compared with four names",
        "dialects.registry.parse_all": "parses one by one",
        "archetypes.archetypes.Archetypes.create": "a name, compared",
        "archetypes.archetypes.Archetypes.extend": "a name, compared",
        "archetypes.archetypes.Archetypes.find": "a name, compared",
        "archetypes.extract.run_extractors": _OF_CODE,
        "archetypes.findings.states": _OF_CODE,
        "archetypes.record.look_back": "a session's name, checked by Scope",
        "archetypes.strategy.strategy_of": _OF_CODE,
        "events.reader.EventReader.highlights": "a protocol",
        "events.reader.EventReader.page": "a protocol",
        "events.reader.EventReader.recent": "a protocol",
        "memories.compose.a_kind": "one of six kinds",
        "memories.extraction.language.ReadingRules.beginning": "reads one word; a part of memories.extraction.extract",
        "memories.extraction.language.language": _OF_CODE,
        "memories.extraction.remember_found.extracted_memory": "what memories.extraction.extract returns, then checked",
        "events.reader.EventReader.sessions": "a protocol",
        "memories.resolve.resolve": "compares ids",
        "memories.audit.secret_finding": "text.secrets.find.find_secrets, which is measured",
        "memories.consolidation.holding.Holding.of": "counts characters of a memory",
        "memories.consolidation.steps.compress": "the beginnings of episodes, cut to a size",
        "memories.consolidation.steps.merge": "compares hashes",
        "memories.consolidation.steps.evict": "compares numbers",
        "events.appending.read_tail": "a session's name, checked by Scope",
        "events.appending.find_by_message_id": "a session's name, checked by Scope; ids are compared",
        "pipeline.format.layout.Grammar.line": "a protocol",
        "pipeline.format.layout.Grammar.stable": "a protocol",
        "pipeline.format.layout.RenderedLine.filled": _OF_CODE,
        "pipeline.format.named.check_details": _OF_CODE,
        "pipeline.format.named.open_format": _OF_CODE,
        "pipeline.gather.abandoned.Abandoned.sheds": _OF_CODE,
        "pipeline.gather.abandoned.Abandoned.take": _OF_CODE,
        "pipeline.gather.candidates.from_block": _OF_CODE,
        "pipeline.gather.candidates.from_entry": _OF_CODE,
        "pipeline.gather.candidates.from_event": _OF_CODE,
        "pipeline.gather.candidates.from_memory": _OF_CODE,
        "pipeline.gather.merge.fresh": "compares ids; the texts are hashed by text.normal.content_hash",
        "pipeline.gather.outcome.answer": _OF_CODE,
        "pipeline.gather.candidates.offered": _OF_CODE,
        "pipeline.gather.outcome.candidates": _OF_CODE,
        "pipeline.gather.outcome.unread": _OF_CODE,
        "pipeline.gather.outcome.source_report": _OF_CODE,
        "pipeline.inject.placement.place": "puts texts beside each other; measured in inject.inject.inject",
        "memories.checks.flag": _OF_CODE,
        "memories.llm_extraction.prompt.instructions": _OF_CODE,
        "memories.llm_extraction.queue.ExtractionQueue.claim": "a protocol",
        "memories.llm_extraction.queue.ExtractionQueue.release": "a protocol",
        "memories.llm_extraction.queue.ExtractionQueue.release_all": "a protocol",
        "memories.checks.share": _OF_CODE,
        "memories.compose.content_fields": "compared with six names",
        "memories.directive.set_directive": "checked by memories.checks.words",
        "memories.forget.forget": "compares ids, tags and sessions",
        "memories.reader.MemoryReader.history": "a protocol",
        "memories.reader.MemoryReader.list": "a protocol",
        "memories.remember.attributes": "checked by memories.checks",
        "memories.remember.hash_of": "hashed by text.normal.content_hash",
        "memories.remember.new_memory": "composed by memories.compose.compose",
        "memories.update.update": "composed by memories.compose.compose",
        "pipeline.signals.dates.rule": _OF_CODE,
        "pipeline.signals.word_set.lacks_all": "looks up what signals.word_set.word_set read",
        "pipeline.signals.times.today": "a zone's name, checked by Scope",
        "text.secrets.redact.marker": _OF_CODE,
        "text.secrets.screen.SecretScreen.knows": "looks up what was noted",
        "text.secrets.screen.SecretScreen.note": "counts a kind",
        "tokenizers.named.open_tokenizer": _OF_CODE,
    }
)
"""Public functions that take a string and aren't measured, each with the reason."""
