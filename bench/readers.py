"""Readers: every function that reads untrusted text, by name, wrapped to take nothing but the text.

Untrusted text is what is stored, what callers send and what operators configure. `bench/linear.py` measures these functions. A
test checks that every public function that takes text is listed here, or in `UNREAD` (`bench/unread.py`) with a reason.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from types import MappingProxyType
from typing import Any, cast

import numpy as np

from bench.compaction_readers import COMPACTION_READERS
from bench.document_readers import DOCUMENT_READERS
from bench.event_readers import EVENT_READERS
from bench.everyday_readers import EVERYDAY_READERS
from bench.graph_readers import GRAPH_READERS
from bench.message_readers import MESSAGE_READERS
from bench.own_readers import OWN_READERS
from bench.request_readers import REQUEST_READERS, taken
from bench.summary_readers import SUMMARY_READERS
from germane.catalog import profiles
from germane.catalog.media_tokens import split_payloads, written_json
from germane.catalog.profiles import Catalog, Prices, Profile
from germane.catalog.request_tokens import Ceiling, message_tokens
from germane.cli.screen import plain, printable_json
from germane.dialects.fields import call_as_text, image_note, json_object, json_text, result_as_text, tool_name
from germane.dialects.gemini import either
from germane.dialects.media import data_url, image_size
from germane.dialects.openai_content import known_item
from germane.dialects.registry import DIALECTS, apart, dialect_of, parse, shaping, system_prompt
from germane.errors import InvalidInput
from germane.extraction.llm.answer import Unusable, accept_answer
from germane.extraction.llm.prompt import prompt
from germane.extraction.llm.queue import Claim
from germane.extraction.memories.extract import extract
from germane.extraction.memories.language import vocabulary
from germane.extraction.memories.plans import alternatives
from germane.extraction.memories.statements import find_states
from germane.grpc.server.refusals import refusal
from germane.grpc.server.to_wire import wire_text
from germane.kinds.keys.value import pseudonym
from germane.kinds.memories import fields
from germane.kinds.memories.conflicts import Statement, contrast
from germane.kinds.memories.fields import compose
from germane.kinds.messages.prepared import PreparedMessage, screened_message, slim
from germane.models.embedders.distilled import Distilled
from germane.models.embedders.static import Static
from germane.models.embedders.tables import StaticWordVectors
from germane.models.tokenizers import ENCODINGS, UPPER, Bpe, Bytes, CachedTokenizer, Estimate, as_sent
from germane.search.partition import name_words, named_in, words_said
from germane.search.unit import analyse_parts, analyse_text, describe, parts
from germane.stages.gather.about import names_one
from germane.stages.gather.candidates import clipped, verbatim
from germane.stages.gather.source import nameless
from germane.stages.inject import inject, without_returned
from germane.stages.read.asks import asks_name, asks_overview, asks_when, intent, is_personal, word_set
from germane.stages.read.query import excerpt, follow_up, identifiers, keywords, mentions, phrases, read, with_goal
from germane.stages.write.compact import Compact
from germane.stages.write.escape import (
    clean,
    clip,
    escape_attribute,
    escape_label,
    escape_operator,
    escape_text,
    grapheme_floor,
    unforged,
)
from germane.stages.write.excerpts import Excerpts, beginning_of, breadcrumb, event_excerpt
from germane.stages.write.formats import Digest, open_format
from germane.stages.write.item_text import block_tag, event_lines, write_block
from germane.stages.write.layout import Format, category_rank, category_tag
from germane.stages.write.markdown import Markdown
from germane.stages.write.xml import Xml
from germane.text.clauses import sentences
from germane.text.days.times import times
from germane.text.injected import earlier_text
from germane.text.language import detect, of_script
from germane.text.normal import (
    bare,
    blocks,
    content_hash,
    fold,
    in_lower_case,
    is_normalised,
    is_plain,
    normalised,
    unpiled,
    valid_unicode,
    visible,
    wide,
)
from germane.text.private import without_private
from germane.text.secrets.detection import (
    SecretScreen,
    find_secrets,
    redacted,
    refuse_in_name,
    refuse_joined,
    secret_in_name,
    unveiled,
)
from germane.text.secrets.formats import FoundSecret, by_format, by_luhn, private_keys
from germane.text.secrets.named import by_name, is_placeholder, is_random, looks_secret, may_name, named_kind
from germane.text.specifics import capitals, is_question, letter_words, temporal, word_count
from germane.text.summary import Summaries, summarise
from germane.text.templates import neutralise, neutralise_line
from germane.text.terms import analyse, hashed, query_terms, stem, stem_set, term_hash, words
from germane.types.candidate import BlockText, Breakdown, Candidate, Chosen, EntityText, GraphItem, Scored
from germane.types.evidence import Evidence
from germane.types.message import Image, Message, Opaque, Text, ToolCall, ToolResult, Wire
from germane.types.model_names import ModelNames, spelling
from germane.types.query import Query
from germane.types.request import Request
from germane.types.scope import Scope
from germane_testing.builders import an_event

__all__ = ["READERS", "Reader"]

Reader = Callable[[str], object]

_NONCE = "qhzvkdtwmbxr"
_NOW = datetime(2026, 1, 1, tzinfo=UTC)
_SCOPE = Scope(user="u", session="s")
_CATALOG = Catalog.built_in()
_NAMES = ModelNames({profile.name: profile for profile in _CATALOG})

_KNOWN = Distilled()
_WORDS, _STEMS = StaticWordVectors(_KNOWN), np.zeros(1, np.uint32)
_STATIC = Static()
_EXCERPTS = Excerpts(["yesterday", "dogs", "a", "書"])
_QUERY = Query(text="", at=_NOW, identifiers=("a.b", "::"), phrases=("a a", "  "))


def _claim(text: str) -> Claim:
    """What a language model is asked about a message of this text."""
    return Claim(scope=_SCOPE, session=1, first=0, stop=1, holder="h", turns=(an_event(text, user="u"),))


def _listed(text: str) -> str:
    """A language model's answer that is made of this text."""
    entry = {"kind": "behavior", "key": text[:64], "text": text, "sources": ["m1"], "confidence": 1, "sensitive": False}
    return json.dumps({"memories": [entry]})


def _accepted(answer: str, said: str) -> object:
    try:
        return accept_answer(answer, _claim(said), model="m")
    except Unusable:
        return None


def _candidate(text: str, **more: Any) -> Candidate:
    given: dict[str, Any] = {"id": "x", "source": "messages", "category": "conversation", "speaker": "Caroline"}
    return Candidate(**(given | {"text": text, "created_at": _NOW} | more))


def _block(text: str) -> BlockText:
    return BlockText(id="x", label=text, type="core", text=text, description=text, shared_from=text, schema=text)


def _chosen(text: str) -> Chosen:
    parts = Breakdown(relevance=1, recency=1, usefulness=0.5, confidence=0.8, frequency=0)
    return Chosen(
        scored=Scored(candidate=_candidate(text), score=0.5, log_odds=0, breakdown=parts, rank=1), text=text, tokens=0
    )


def _entity(text: str) -> GraphItem:
    return GraphItem(shown=EntityText(type=text, name=text, properties=((text, text),)), prior=0.1, salience=0.5)


def _format(name: str = "compact") -> Format:
    return open_format(name, tokenizer=Ceiling(), nonce=_NONCE, zone=UTC, terms=["dogs"])


def _request(text: str) -> Request:
    messages = (Message.of("user", text), Message.of("assistant", text), Message.of("user", text))
    return Request(scope=_SCOPE, messages=messages, raw=messages, model="gpt-4o", provider="openai", at=_NOW)


def _parts(text: str) -> Message:
    """A message with the text in every part that may hold one."""
    parts = (
        Text(text),
        Image(url=text),
        ToolCall(id=text, name=text, arguments=text),
        ToolResult(call_id=text, name=text, text=text),
        Opaque(kind="openai:input_audio", raw={"type": "input_audio", "input_audio": {"data": text, "format": "wav"}}),
    )
    return Message(role="user", parts=parts, name=text)


def _wire(text: str) -> Wire:
    blocks = [{"type": "text", "text": text}, {"type": "tool_use", "id": text, "name": text, "input": {}}]
    parts = [{"text": text}, {"functionCall": {"name": text, "args": {}}}]
    return Wire(messages=[{"role": "user", "content": blocks, "parts": parts, "name": text}], system=text)


def _dialects() -> dict[str, Reader]:
    readers: dict[str, Reader] = {}
    for one in DIALECTS:
        spoken = {"role": "user", "content": None, "parts": None}

        def shaped(text: str, spoken: dict[str, Any] = spoken, gemini: bool = one.name == "gemini") -> dict[str, Any]:
            return {"role": "user", "parts": [{"text": text}]} if gemini else {**spoken, "content": text, "id": text}

        readers |= {
            f"dialects.{one.name}.parse": lambda text, one=one, shaped=shaped: one.parse(shaped(text)),  # type: ignore[misc]
            f"dialects.{one.name}.native": lambda text, one=one, shaped=shaped: one.native(shaped(text)),  # type: ignore[misc]
            f"dialects.{one.name}.render": lambda text, one=one: one.render([_parts(text)]),  # type: ignore[misc]
            f"dialects.{one.name}.problems": lambda text, one=one: one.problems(_wire(text)),  # type: ignore[misc]
        }
    return readers


def _tokenizers() -> dict[str, Reader]:
    found: dict[str, Reader] = {
        "models.tokenizers.as_sent": as_sent,
        "models.tokenizers.Bytes.count": Bytes().count,
        "models.tokenizers.Bytes.ceiling": Bytes().ceiling,
    }
    for name in ENCODINGS:
        if (bpe := Bpe(name)).available:
            found |= {f"models.tokenizers.Bpe.count {name}": bpe.count, f"models.tokenizers.Bpe.ceiling {name}": bpe.ceiling}
            found["models.tokenizers.CachedTokenizer.count"] = lambda text, bpe=bpe: CachedTokenizer(bpe).count(text)  # type: ignore[misc]
            found["models.tokenizers.CachedTokenizer.known"] = CachedTokenizer(bpe).known
            found["models.tokenizers.CachedTokenizer.ceiling"] = CachedTokenizer(bpe).ceiling
            found["models.tokenizers.Estimate.count"] = Estimate(bpe, UPPER["mistral"]).count
            found["models.tokenizers.Estimate.ceiling"] = Estimate(bpe, UPPER["mistral"]).ceiling
    return found


_FORMAT: dict[str, Reader] = {
    "stages.write.excerpts.beginning_of": lambda text: beginning_of(text, max(16, len(text) // 8), len),
    "stages.write.item_text.block_tag": lambda text: block_tag(text, _NONCE),
    "stages.write.item_text.write_block": lambda text: write_block(_block(text), _NONCE, schema=True, text=text),
    "stages.write.compact.Compact.line of a block": lambda text: Compact(_NONCE, UTC).line(
        _candidate(text, block=_block(text)), text
    ),
    "stages.write.layout.category_rank": category_rank,
    "stages.write.layout.category_tag": lambda text: category_tag.__wrapped__(text, _NONCE),
    "stages.write.compact.Compact.line": lambda text: Compact(_NONCE, UTC).line(_candidate(text), text),
    "stages.write.compact.Compact.further": lambda text: Compact(_NONCE, UTC).further(_candidate(text), text, adjoining=False),
    "stages.write.compact.Compact.line of a speaker": lambda text: Compact(_NONCE, UTC).line(
        _candidate("x", speaker=text), "x"
    ),
    "stages.write.compact.Compact.stable": lambda text: Compact(_NONCE, UTC).stable(text, True),
    "stages.write.xml.Xml.line": lambda text: Xml(_NONCE, UTC).line(_candidate(text), text),
    "stages.write.xml.Xml.line of an id": lambda text: Xml(_NONCE, UTC, ("id",)).line(
        _candidate("x", id=text, speaker=text), "x"
    ),
    "stages.write.xml.Xml.line of an entity": lambda text: Xml(_NONCE, UTC).line(_candidate("x", graph=_entity(text)), "x"),
    "stages.write.markdown.Markdown.line": lambda text: Markdown(_NONCE, UTC).line(_candidate(text), text),
    "stages.write.markdown.Markdown.line of an event": lambda text: Markdown(_NONCE, UTC).line(
        _candidate(text, event_type="note", outcome=text), text
    ),
    "stages.write.markdown.Markdown.line of a block": lambda text: Markdown(_NONCE, UTC).line(
        _candidate(text, block=_block(text)), text
    ),
    "stages.write.markdown.Markdown.line of a speaker": lambda text: Markdown(_NONCE, UTC).line(
        _candidate("x", speaker=text), "x"
    ),
    "stages.write.markdown.Markdown.line of an entity": lambda text: Markdown(_NONCE, UTC).line(
        _candidate("x", graph=_entity(text)), "x"
    ),
    "stages.write.markdown.Markdown.stable": lambda text: Markdown(_NONCE, UTC).stable(text, True),
    "stages.write.item_text.event_lines": lambda text: event_lines(text, text, _NONCE),
    "stages.write.escape.unforged": lambda text: unforged(text, re.compile(r"\[\d")),
    "stages.gather.candidates.clipped": lambda text: clipped(text, ("needle",)),
    "stages.write.xml.Xml.stable": lambda text: Xml(_NONCE, UTC).stable(text, True),
    "stages.write.escape.clean": lambda text: clean(text, _NONCE),
    "stages.write.escape.escape_text": escape_text,
    "stages.write.escape.escape_attribute": escape_attribute,
    "stages.write.escape.escape_operator": lambda text: escape_operator(text, _NONCE),
    "stages.write.escape.escape_label": lambda text: escape_label(text, _NONCE),
    "stages.write.escape.grapheme_floor": lambda text: [grapheme_floor(text, len(text) // at) for at in (1, 2, 3)],
    "stages.write.escape.clip": lambda text: (clip(text, 64), clip(text, len(text) - 1)),
    "text.normal.is_plain": is_plain,
    "text.normal.valid_unicode": valid_unicode,
    "text.normal.visible": visible,
    "stages.write.formats.Digest.line": lambda text: Digest(_NONCE, UTC).line(_candidate(text), text),
    "stages.write.formats.Digest.stable": lambda text: Digest(_NONCE, UTC).stable(text, True),
    "stages.write.layout.Format.chars": lambda text: _format("digest").chars(_candidate(text), text),
    "kinds.memories.conflicts.contrast": lambda text: contrast(Statement(text), Statement(text + " not")),
    "stages.write.layout.Format.fixed": lambda text: _format().fixed(text),
    "stages.write.layout.Format.cost": lambda text: _format().cost(_candidate(text), text),
    "stages.write.layout.Format.total": lambda text: _format("xml").total(text, [_chosen(text)]),
    "stages.write.layout.Format.write": lambda text: _format().write(text, [_chosen(text)]),
    "stages.write.layout.Format.shorten": lambda text: _format().shorten(_candidate(text), 60),
    "stages.write.excerpts.breadcrumb": lambda text: breadcrumb(_candidate(text, title=text), 9),
    "stages.write.excerpts.Excerpts.match": _EXCERPTS.match,
    "stages.write.excerpts.event_excerpt": lambda text: event_excerpt(text, 40, lambda shown: 4 + len(shown) // 4),
    "stages.write.excerpts.Excerpts.of": lambda text: _EXCERPTS.of(text, 40, lambda shown: 4 + len(shown) // 4),
    "stages.write.excerpts.Excerpts.of a large part": lambda text: _EXCERPTS.of(
        text, len(text) // 5, lambda shown: 4 + len(shown) // 4
    ),
    "text.templates.neutralise": neutralise,
    "text.templates.neutralise_line": lambda text: neutralise_line(text[:9], text),
}

_TEXT: dict[str, Reader] = {
    "text.terms.analyse": analyse,
    "text.terms.hashed": hashed,
    "text.terms.stem_set": stem_set,
    "text.terms.query_terms": query_terms,
    "text.terms.term_hash": term_hash.__wrapped__,
    "text.terms.stem": lambda text: stem(valid_unicode(text), "german"),  # words hold no surrogates
    "text.language.detect": detect,
    "text.language.of_script": of_script,
    "text.normal.in_lower_case": in_lower_case,
    "text.normal.normalised": lambda text: (normalised(text), normalised(text, "NFKC"), normalised(text, "NFKD")),
    "text.normal.is_normalised": lambda text: (is_normalised(text), is_normalised(text, "NFKC"), is_normalised(text, "NFKD")),
    "text.normal.unpiled": unpiled,
    "text.normal.wide": wide,
    "text.normal.bare": bare,
    "text.normal.fold": fold,
    "text.normal.content_hash": content_hash,
    "text.normal.blocks": lambda text: list(blocks(text, 1024)),
    "search.unit.parts": parts,
    "search.partition.words_said": words_said,
    "search.partition.named_in": lambda text: named_in(text, {1: "Caroline", 2: text[:40]}),
    "search.partition.name_words": name_words,
    "search.unit.analyse_text": analyse_text,
    "search.unit.analyse_parts": analyse_parts,
    "text.private.without_private": lambda text: without_private(f"<private>{text}</private>{text}<private>"),
    "text.secrets.detection.find_secrets": find_secrets,
    "text.secrets.detection.secret_in_name": secret_in_name,
    "text.injected.earlier_text": lambda text: earlier_text("h0a1b2c3d4e5f", f"{text}[End of handle h0a1b2c3d4e5f]{text}"),
    "text.secrets.detection.find_secrets behind names": lambda text: find_secrets(f"password={text} api key: {text} ://{text}"),
    "text.secrets.formats.by_format": lambda text: list(by_format(text, 0, len(text))),
    "text.secrets.formats.private_keys": lambda text: list(private_keys(f"-----BEGIN PRIVATE KEY-----{text}")),
    "text.secrets.formats.by_luhn": lambda text: list(by_luhn(text)),
    "text.secrets.named.by_name": lambda text: list(by_name(text, text.lower())) if len(text) == len(text.lower()) else None,
    "text.secrets.named.may_name": may_name,
    "text.secrets.named.named_kind": lambda text: (named_kind(text, "hunter2"), named_kind("password", text)),
    "text.secrets.named.looks_secret": lambda text: looks_secret(text, "password", assigned=True),
    "text.secrets.named.is_random": is_random,
    "text.secrets.named.is_placeholder": is_placeholder,
    "text.secrets.detection.redacted": lambda text: redacted(text, [FoundSecret("password", 0, len(text) // 2)]),
    "text.secrets.detection.refuse_in_name": lambda text: refuse_in_name("refuse", "x", text.replace("=", " ")),
    "text.secrets.detection.refuse_joined": lambda text: refuse_joined("refuse", "x", f"{text} a", f"{text}\n- a"),
    "text.secrets.detection.SecretScreen.text": lambda text: SecretScreen("redact", "x").text(text, text[:99]),
    "text.secrets.detection.SecretScreen.json": lambda text: SecretScreen("redact", "x").json({text: [text]}, text[:99]),
    "text.secrets.detection.unveiled": unveiled,
    "text.clauses.sentences": sentences,
    "text.summary.summarise": lambda text: summarise(text, 60, lambda shown: 4 + len(shown) // 4, reach=1 << 30),
    "text.summary.Summaries.of": lambda text: Summaries(["dogs"]).of(text, len(text) // 20, lambda shown: 4 + len(shown) // 4),
    "text.specifics.is_question": is_question,
    "text.specifics.temporal": temporal,
    "text.specifics.capitals": capitals,
    "text.specifics.letter_words": letter_words,
    "text.specifics.word_count": word_count,
    "text.terms.words": words,
}

_SIGNALS: dict[str, Reader] = {
    "stages.read.asks.asks_when": lambda text: asks_when(f"when {text}"),
    "stages.read.asks.asks_name": lambda text: asks_name(f"which {text}"),
    "stages.read.asks.asks_overview": lambda text: asks_overview(f"fass {text} zusammen", 3),
    "stages.read.query.excerpt": excerpt,
    "stages.read.asks.word_set": word_set.__wrapped__,
    "stages.read.query.identifiers": lambda text: identifiers(f"_{text}"),
    "stages.read.asks.intent": lambda text: intent(f"{text} what is run"),
    "stages.read.query.keywords": keywords,
    "stages.read.query.follow_up": lambda text: follow_up(text, (), [text]),
    "stages.read.query.mentions": mentions,
    "stages.read.asks.is_personal": is_personal,
    "stages.read.query.with_goal": lambda text: with_goal(_QUERY, text, ()),
    "stages.read.query.phrases": phrases,
    "stages.read.query.read": lambda text: read(_request(text)),
    "extraction.memories.language.vocabulary": vocabulary,
    "extraction.memories.plans.alternatives": lambda text: alternatives(f"always answer in german {text}"),
    "extraction.memories.extract.extract": lambda text: (
        extract(f"i prefer {text}, and my sister {text}. always use {text}", speaker=text[:80]),
        extract(f"ich mag {text}. immer wenn ich {text}"),
    ),
    "extraction.memories.statements.find_states": lambda text: list(find_states(f"Marta lives in {text}", 0, len(text) + 15)),
    "extraction.llm.answer.accept_answer": lambda text: (_accepted(text, "a"), _accepted(_listed(text), text)),
    "extraction.llm.prompt.prompt": lambda text: prompt(_claim(text), [], _NONCE),
    "text.days.times.times": lambda text: times(f"last may 2024 days ago {text} 東 summer", date(2026, 1, 1)),
}

_OTHERS: dict[str, Reader] = {
    "catalog.profiles.Catalog.find": lambda text: (
        _CATALOG.find(text),
        taken(lambda like: _CATALOG.find("m", like=like))(text),
    ),
    "types.model_names.ModelNames.find": _NAMES.find,
    "types.model_names.ModelNames.near": _NAMES.near,
    "types.model_names.spelling": spelling,
    "catalog.profiles.Profile.binds_thinking": Catalog.built_in().find("claude-fable-5-1").binds_thinking,
    "catalog.profiles.Prices.find": Prices.built_in().find,
    "catalog.profiles.unknown_model_warning": lambda text: profiles.unknown_model_warning(text, 8192),
    "catalog.request_tokens.Ceiling.count": Ceiling().count,
    "catalog.request_tokens.Ceiling.ceiling": Ceiling().ceiling,
    "catalog.request_tokens.message_tokens": lambda text: message_tokens(
        _parts(text), Profile(name="m", provider="openai"), len
    ),
    "catalog.media_tokens.split_payloads": lambda text: split_payloads({"data": text, "url": f"data:{text};base64,{text}"}),
    "catalog.media_tokens.written_json": lambda text: written_json({text: [text]}),
    "cli.screen.plain": plain,
    "cli.screen.printable_json": printable_json,
    "dialects.gemini.either": lambda text: either({"functionCall": {"name": text}}, "functionCall"),
    "dialects.media.data_url": lambda text: (data_url(text), data_url(f"data:{text},"), data_url(f"data:{text};base64,")),
    "dialects.media.image_size": lambda text: (image_size(text), image_size(f"/9j{text}")),
    "dialects.openai_content.known_item": known_item,
    "dialects.registry.dialect_of": lambda text: dialect_of({"role": text, "content": [{"type": text}]}, "openai"),
    "dialects.registry.parse": lambda text: parse({"role": "user", "content": text, "name": text, "id": text}),
    "dialects.registry.apart": lambda text: apart({"role": "system", "parts": [{"text": text}]}, "anthropic"),
    "dialects.registry.system_prompt": lambda text: (
        system_prompt(text, "openai"),
        system_prompt([text, {"text": text}], "gemini"),
    ),
    "dialects.registry.shaping": lambda text: shaping([_parts(text)], Profile(name="m", provider="openai"), len),
    "dialects.fields.tool_name": tool_name,
    "dialects.fields.json_object": lambda text: (json_object(text), json_object(f'{{"a": {text}}}'), json_object(f'"{text}"')),
    "dialects.fields.json_text": json_text,
    "dialects.fields.call_as_text": lambda text: call_as_text(ToolCall(id=text, name=text, arguments=text)),
    "dialects.fields.result_as_text": lambda text: result_as_text(ToolResult(call_id=text, name=text, text=text)),
    "dialects.fields.image_note": lambda text: image_note(Image(url=text)),
    "models.embedders.distilled.Distilled.embed_now": lambda text: _KNOWN.embed_now([text]),
    "models.embedders.static.Static.embed_now": lambda text: _STATIC.embed_now([text]),
    "models.embedders.tables.StaticWordVectors.cosines": lambda text: _WORDS.cosines(_STEMS, [text]),
    "kinds.messages.prepared.screened_message": lambda text: screened_message(
        cast("PreparedMessage", PreparedMessage.of(Message.of("user", f"x{text}"), {"content": [text]}, "UTC")), "redact"
    ),
    "kinds.messages.prepared.slim": lambda text: slim({"a": text, text: [f"data:{text}", f"data:a;base64,{text}"]}),
    "kinds.messages.prepared.PreparedMessage.of": lambda text: PreparedMessage.of(
        Message.of("user", text, name=text[:9]), {"content": [text]}, "UTC"
    ),
    "stages.gather.about.names_one": lambda text: names_one(text, (text[:100].casefold() + "?", "a")),
    "stages.gather.candidates.verbatim": lambda text: verbatim(_QUERY, text, Evidence()),
    "stages.gather.source.nameless": lambda text: nameless(text, ("Caroline", "a a", text[:40])),
    "grpc.outgoing.text": wire_text,
    "grpc.server.refusals.refusal": lambda text: refusal(InvalidInput(f"model {text!r}: '{text}' and {text}")),
    "stages.inject.inject": lambda text: inject(_request(text), text, text, placement="split").convert("anthropic"),
    "stages.inject.without_returned": lambda text: without_returned(
        _request(f'<memory nonce="{_NONCE}">{text}</memory>{text}'), _NONCE
    ),
    "kinds.memories.fields.words": taken(lambda text: fields.words("text", text)),
    "kinds.memories.fields.label": taken(lambda text: fields.label("key", text)),
    "kinds.memories.fields.moment": taken(lambda text: fields.moment("since", text, "UTC")),
    "kinds.memories.fields.json_value": taken(lambda text: fields.json_value("value", [text, {text: text}])),
    "kinds.memories.fields.compose": taken(lambda text: compose(text, kind="fact", given={"key": text})),
    "types.message.Message.content": lambda text: _parts(text).content,
    "kinds.keys.value.pseudonym": lambda text: pseudonym(b"key", text),
    "types.scope.Scope": taken(lambda text: Scope(org=text)),
    "search.unit.describe": lambda text: describe(
        key=1, session=1, created_at=0.0, text=text, role="user", name=text, sensitivity="private", kind="note"
    ),
}


READERS: Mapping[str, Reader] = MappingProxyType(
    {
        **_FORMAT,
        **DOCUMENT_READERS,
        **_TEXT,
        **_SIGNALS,
        **_OTHERS,
        **_dialects(),
        **_tokenizers(),
        **OWN_READERS,
        **EVERYDAY_READERS,
        **REQUEST_READERS,
        **EVENT_READERS,
        **MESSAGE_READERS,
        **COMPACTION_READERS,
        **SUMMARY_READERS,
        **GRAPH_READERS,
    }
)
"""Functions by module and name, with the variant where a function has several."""
