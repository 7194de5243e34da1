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
from germane.access.pseudonym import pseudonym
from germane.catalog import unknown_model
from germane.catalog.catalog import Catalog
from germane.catalog.ceiling import Ceiling
from germane.catalog.measure_budget import message_tokens
from germane.catalog.payload import split_payloads, written
from germane.catalog.prices import Prices
from germane.catalog.profile import Profile
from germane.cli.screen import plain, printable_json
from germane.dialects.gemini_check import either
from germane.dialects.image_size import data_url, image_size
from germane.dialects.registry import DIALECTS, dialect_of, parse
from germane.dialects.responses_items import known_item
from germane.dialects.shaping import shaping
from germane.dialects.system_prompt import apart, system_prompt
from germane.dialects.wording import call_as_text, image_note, json_object, json_text, result_as_text, sendable, tool_name
from germane.embedders.distilled import Distilled
from germane.embedders.static import Static
from germane.embedders.word_vectors import StaticWordVectors
from germane.errors import InvalidInput
from germane.events.prepared_message import PreparedMessage, slim
from germane.events.prepared_message import clean as whole
from germane.events.screened_message import screened
from germane.grpc.refusals import refusal
from germane.grpc.to_wire import text as wire_text
from germane.memories import checks
from germane.memories.compose import compose
from germane.memories.contrast import Statement, contrast
from germane.memories.extraction.exclusive import alternatives
from germane.memories.extraction.extract import extract
from germane.memories.extraction.language import vocabulary
from germane.memories.extraction.states import find_states
from germane.memories.llm_extraction.answer import Unusable, accepted
from germane.memories.llm_extraction.claim import Claim
from germane.memories.llm_extraction.prompt import prompt
from germane.pipeline.format.beginning import beginning
from germane.pipeline.format.blocks import block_tag, write_block
from germane.pipeline.format.breadcrumb import breadcrumb
from germane.pipeline.format.category import rank, tag
from germane.pipeline.format.compact import Compact
from germane.pipeline.format.digest import Digest
from germane.pipeline.format.escape import clean, escape_attribute, escape_operator, escape_text, label
from germane.pipeline.format.event_excerpt import event_excerpt
from germane.pipeline.format.graphemes import clip, floor
from germane.pipeline.format.item_text import event_lines
from germane.pipeline.format.layout import Format
from germane.pipeline.format.markdown import Markdown
from germane.pipeline.format.named import open_format
from germane.pipeline.format.shorten import Excerpts
from germane.pipeline.format.unforged import unforged
from germane.pipeline.format.xml import Xml
from germane.pipeline.gather.about import names_one
from germane.pipeline.gather.candidates import verbatim
from germane.pipeline.gather.output import clipped
from germane.pipeline.gather.vector import nameless
from germane.pipeline.inject.inject import inject
from germane.pipeline.inject.returned import without_returned
from germane.pipeline.signals.asks import asks_name, asks_overview, asks_when
from germane.pipeline.signals.identifiers import identifiers, phrases
from germane.pipeline.signals.intent import intent
from germane.pipeline.signals.keywords import follow_up, keywords
from germane.pipeline.signals.mentions import mentions
from germane.pipeline.signals.personal import is_personal
from germane.pipeline.signals.read import excerpt, read
from germane.pipeline.signals.task import with_goal
from germane.pipeline.signals.word_set import word_set
from germane.search.parts import parts
from germane.search.speakers import name_words, named_in, words_said
from germane.search.unit import analysed, analysed_parts, describe
from germane.testing.stored import an_event
from germane.text.analyse import analyse, hashed, query_terms, stem, stem_set, term_hash
from germane.text.blocks import blocks
from germane.text.days.times import times
from germane.text.injected import earlier_text
from germane.text.invisible import is_plain, visible
from germane.text.language import detect, of_script
from germane.text.normal import bare, content_hash, fold, in_lower_case, is_normalised, normalised, unpiled, wide
from germane.text.secrets.cards import by_luhn
from germane.text.secrets.find import find_secrets
from germane.text.secrets.formats import by_format, private_keys
from germane.text.secrets.found import FoundSecret
from germane.text.secrets.looks_secret import is_placeholder, is_random, looks_secret
from germane.text.secrets.named import by_name, may_name, named_kind
from germane.text.secrets.redact import redacted
from germane.text.secrets.screen import SecretScreen, refuse_in_name, refuse_joined, secret_in_name
from germane.text.secrets.unveiled import unveiled
from germane.text.sentences import sentences
from germane.text.summary import Summaries, summarise
from germane.text.templates import neutralise, neutralise_line
from germane.text.traits import capitals, is_question, letter_words, temporal, word_count
from germane.text.words import words
from germane.tokenizers.bpe import ENCODINGS, Bpe, as_sent
from germane.tokenizers.cached import CachedTokenizer
from germane.tokenizers.estimate import UPPER, Bytes, Estimate
from germane.types.block_text import BlockText
from germane.types.candidate import Breakdown, Candidate, Chosen, Scored
from germane.types.evidence import Evidence
from germane.types.graph_item import EntityText, GraphItem
from germane.types.message import Image, Message, Opaque, Text, ToolCall, ToolResult, Wire
from germane.types.model_names import ModelNames, spelling
from germane.types.query import Query
from germane.types.request import Request
from germane.types.scope import Scope

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
        return accepted(answer, _claim(said), model="m")
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
        "tokenizers.bpe.as_sent": as_sent,
        "tokenizers.estimate.Bytes.count": Bytes().count,
        "tokenizers.estimate.Bytes.ceiling": Bytes().ceiling,
    }
    for name in ENCODINGS:
        if (bpe := Bpe(name)).available:
            found |= {f"tokenizers.bpe.Bpe.count {name}": bpe.count, f"tokenizers.bpe.Bpe.ceiling {name}": bpe.ceiling}
            found["tokenizers.cached.CachedTokenizer.count"] = lambda text, bpe=bpe: CachedTokenizer(bpe).count(text)  # type: ignore[misc]
            found["tokenizers.cached.CachedTokenizer.known"] = CachedTokenizer(bpe).known
            found["tokenizers.cached.CachedTokenizer.ceiling"] = CachedTokenizer(bpe).ceiling
            found["tokenizers.estimate.Estimate.count"] = Estimate(bpe, UPPER["mistral"]).count
            found["tokenizers.estimate.Estimate.ceiling"] = Estimate(bpe, UPPER["mistral"]).ceiling
    return found


_FORMAT: dict[str, Reader] = {
    "pipeline.format.beginning.beginning": lambda text: beginning(text, max(16, len(text) // 8), len),
    "pipeline.format.blocks.block_tag": lambda text: block_tag(text, _NONCE),
    "pipeline.format.blocks.write_block": lambda text: write_block(_block(text), _NONCE, schema=True, text=text),
    "pipeline.format.compact.Compact.line of a block": lambda text: Compact(_NONCE, UTC).line(
        _candidate(text, block=_block(text)), text
    ),
    "pipeline.format.category.rank": rank,
    "pipeline.format.category.tag": lambda text: tag.__wrapped__(text, _NONCE),
    "pipeline.format.compact.Compact.line": lambda text: Compact(_NONCE, UTC).line(_candidate(text), text),
    "pipeline.format.compact.Compact.further": lambda text: Compact(_NONCE, UTC).further(
        _candidate(text), text, adjoining=False
    ),
    "pipeline.format.compact.Compact.line of a speaker": lambda text: Compact(_NONCE, UTC).line(
        _candidate("x", speaker=text), "x"
    ),
    "pipeline.format.compact.Compact.stable": lambda text: Compact(_NONCE, UTC).stable(text, True),
    "pipeline.format.xml.Xml.line": lambda text: Xml(_NONCE, UTC).line(_candidate(text), text),
    "pipeline.format.xml.Xml.line of an id": lambda text: Xml(_NONCE, UTC, ("id",)).line(
        _candidate("x", id=text, speaker=text), "x"
    ),
    "pipeline.format.xml.Xml.line of an entity": lambda text: Xml(_NONCE, UTC).line(_candidate("x", graph=_entity(text)), "x"),
    "pipeline.format.markdown.Markdown.line": lambda text: Markdown(_NONCE, UTC).line(_candidate(text), text),
    "pipeline.format.markdown.Markdown.line of an event": lambda text: Markdown(_NONCE, UTC).line(
        _candidate(text, event_type="note", outcome=text), text
    ),
    "pipeline.format.markdown.Markdown.line of a block": lambda text: Markdown(_NONCE, UTC).line(
        _candidate(text, block=_block(text)), text
    ),
    "pipeline.format.markdown.Markdown.line of a speaker": lambda text: Markdown(_NONCE, UTC).line(
        _candidate("x", speaker=text), "x"
    ),
    "pipeline.format.markdown.Markdown.line of an entity": lambda text: Markdown(_NONCE, UTC).line(
        _candidate("x", graph=_entity(text)), "x"
    ),
    "pipeline.format.markdown.Markdown.stable": lambda text: Markdown(_NONCE, UTC).stable(text, True),
    "pipeline.format.item_text.event_lines": lambda text: event_lines(text, text, _NONCE),
    "pipeline.format.unforged.unforged": lambda text: unforged(text, re.compile(r"\[\d")),
    "pipeline.gather.output.clipped": lambda text: clipped(text, ("needle",)),
    "pipeline.format.xml.Xml.stable": lambda text: Xml(_NONCE, UTC).stable(text, True),
    "pipeline.format.escape.clean": lambda text: clean(text, _NONCE),
    "pipeline.format.escape.escape_text": escape_text,
    "pipeline.format.escape.escape_attribute": escape_attribute,
    "pipeline.format.escape.escape_operator": lambda text: escape_operator(text, _NONCE),
    "pipeline.format.escape.label": lambda text: label(text, _NONCE),
    "pipeline.format.graphemes.floor": lambda text: [floor(text, len(text) // at) for at in (1, 2, 3)],
    "pipeline.format.graphemes.clip": lambda text: (clip(text, 64), clip(text, len(text) - 1)),
    "text.invisible.is_plain": is_plain,
    "text.invisible.visible": visible,
    "pipeline.format.digest.Digest.line": lambda text: Digest(_NONCE, UTC).line(_candidate(text), text),
    "pipeline.format.digest.Digest.stable": lambda text: Digest(_NONCE, UTC).stable(text, True),
    "pipeline.format.layout.Format.chars": lambda text: _format("digest").chars(_candidate(text), text),
    "memories.contrast.contrast": lambda text: contrast(Statement(text), Statement(text + " not")),
    "pipeline.format.layout.Format.fixed": lambda text: _format().fixed(text),
    "pipeline.format.layout.Format.cost": lambda text: _format().cost(_candidate(text), text),
    "pipeline.format.layout.Format.total": lambda text: _format("xml").total(text, [_chosen(text)]),
    "pipeline.format.layout.Format.write": lambda text: _format().write(text, [_chosen(text)]),
    "pipeline.format.layout.Format.shorten": lambda text: _format().shorten(_candidate(text), 60),
    "pipeline.format.breadcrumb.breadcrumb": lambda text: breadcrumb(_candidate(text, title=text), 9),
    "pipeline.format.shorten.Excerpts.match": _EXCERPTS.match,
    "pipeline.format.event_excerpt.event_excerpt": lambda text: event_excerpt(text, 40, lambda shown: 4 + len(shown) // 4),
    "pipeline.format.shorten.Excerpts.of": lambda text: _EXCERPTS.of(text, 40, lambda shown: 4 + len(shown) // 4),
    "pipeline.format.shorten.Excerpts.of a large part": lambda text: _EXCERPTS.of(
        text, len(text) // 5, lambda shown: 4 + len(shown) // 4
    ),
    "text.templates.neutralise": neutralise,
    "text.templates.neutralise_line": lambda text: neutralise_line(text[:9], text),
}

_TEXT: dict[str, Reader] = {
    "text.analyse.analyse": analyse,
    "text.analyse.hashed": hashed,
    "text.analyse.stem_set": stem_set,
    "text.analyse.query_terms": query_terms,
    "text.analyse.term_hash": term_hash.__wrapped__,
    "text.analyse.stem": lambda text: stem(whole(text), "german"),  # words hold no surrogates
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
    "text.blocks.blocks": lambda text: list(blocks(text, 1024)),
    "search.parts.parts": parts,
    "search.speakers.words_said": words_said,
    "search.speakers.named_in": lambda text: named_in(text, {1: "Caroline", 2: text[:40]}),
    "search.speakers.name_words": name_words,
    "search.unit.analysed": analysed,
    "search.unit.analysed_parts": analysed_parts,
    "text.secrets.find.find_secrets": find_secrets,
    "text.secrets.screen.secret_in_name": secret_in_name,
    "text.injected.earlier_text": lambda text: earlier_text("h0a1b2c3d4e5f", f"{text}[End of handle h0a1b2c3d4e5f]{text}"),
    "text.secrets.find.find_secrets behind names": lambda text: find_secrets(f"password={text} api key: {text} ://{text}"),
    "text.secrets.formats.by_format": lambda text: list(by_format(text, 0, len(text))),
    "text.secrets.formats.private_keys": lambda text: list(private_keys(f"-----BEGIN PRIVATE KEY-----{text}")),
    "text.secrets.cards.by_luhn": lambda text: list(by_luhn(text)),
    "text.secrets.named.by_name": lambda text: list(by_name(text, text.lower())) if len(text) == len(text.lower()) else None,
    "text.secrets.named.may_name": may_name,
    "text.secrets.named.named_kind": lambda text: (named_kind(text, "hunter2"), named_kind("password", text)),
    "text.secrets.looks_secret.looks_secret": lambda text: looks_secret(text, "password", assigned=True),
    "text.secrets.looks_secret.is_random": is_random,
    "text.secrets.looks_secret.is_placeholder": is_placeholder,
    "text.secrets.redact.redacted": lambda text: redacted(text, [FoundSecret("password", 0, len(text) // 2)]),
    "text.secrets.screen.refuse_in_name": lambda text: refuse_in_name("refuse", "x", text.replace("=", " ")),
    "text.secrets.screen.refuse_joined": lambda text: refuse_joined("refuse", "x", f"{text} a", f"{text}\n- a"),
    "text.secrets.screen.SecretScreen.text": lambda text: SecretScreen("redact", "x").text(text, text[:99]),
    "text.secrets.screen.SecretScreen.json": lambda text: SecretScreen("redact", "x").json({text: [text]}, text[:99]),
    "text.secrets.unveiled.unveiled": unveiled,
    "text.sentences.sentences": sentences,
    "text.summary.summarise": lambda text: summarise(text, 60, lambda shown: 4 + len(shown) // 4, reach=1 << 30),
    "text.summary.Summaries.of": lambda text: Summaries(["dogs"]).of(text, len(text) // 20, lambda shown: 4 + len(shown) // 4),
    "text.traits.is_question": is_question,
    "text.traits.temporal": temporal,
    "text.traits.capitals": capitals,
    "text.traits.letter_words": letter_words,
    "text.traits.word_count": word_count,
    "text.words.words": words,
}

_SIGNALS: dict[str, Reader] = {
    "pipeline.signals.asks.asks_when": lambda text: asks_when(f"when {text}"),
    "pipeline.signals.asks.asks_name": lambda text: asks_name(f"which {text}"),
    "pipeline.signals.asks.asks_overview": lambda text: asks_overview(f"fass {text} zusammen", 3),
    "pipeline.signals.read.excerpt": excerpt,
    "pipeline.signals.word_set.word_set": word_set.__wrapped__,
    "pipeline.signals.identifiers.identifiers": lambda text: identifiers(f"_{text}"),
    "pipeline.signals.intent.intent": lambda text: intent(f"{text} what is run"),
    "pipeline.signals.keywords.keywords": keywords,
    "pipeline.signals.keywords.follow_up": lambda text: follow_up(text, (), [text]),
    "pipeline.signals.mentions.mentions": mentions,
    "pipeline.signals.personal.is_personal": is_personal,
    "pipeline.signals.task.with_goal": lambda text: with_goal(_QUERY, text, ()),
    "pipeline.signals.identifiers.phrases": phrases,
    "pipeline.signals.read.read": lambda text: read(_request(text)),
    "memories.extraction.language.vocabulary": vocabulary,
    "memories.extraction.exclusive.alternatives": lambda text: alternatives(f"always answer in german {text}"),
    "memories.extraction.extract.extract": lambda text: (
        extract(f"i prefer {text}, and my sister {text}. always use {text}", speaker=text[:80]),
        extract(f"ich mag {text}. immer wenn ich {text}"),
    ),
    "memories.extraction.states.find_states": lambda text: list(find_states(f"Marta lives in {text}", 0, len(text) + 15)),
    "memories.llm_extraction.answer.accepted": lambda text: (_accepted(text, "a"), _accepted(_listed(text), text)),
    "memories.llm_extraction.prompt.prompt": lambda text: prompt(_claim(text), [], _NONCE),
    "text.days.times.times": lambda text: times(f"last may 2024 days ago {text} 東 summer", date(2026, 1, 1)),
}

_OTHERS: dict[str, Reader] = {
    "catalog.catalog.Catalog.find": lambda text: (
        _CATALOG.find(text),
        taken(lambda like: _CATALOG.find("m", like=like))(text),
    ),
    "types.model_names.ModelNames.find": _NAMES.find,
    "types.model_names.ModelNames.near": _NAMES.near,
    "types.model_names.spelling": spelling,
    "catalog.profile.Profile.binds_thinking": Catalog.built_in().find("claude-fable-5-1").binds_thinking,
    "catalog.prices.Prices.find": Prices.built_in().find,
    "catalog.unknown_model.warning": lambda text: unknown_model.warning(text, 8192),
    "catalog.ceiling.Ceiling.count": Ceiling().count,
    "catalog.ceiling.Ceiling.ceiling": Ceiling().ceiling,
    "catalog.measure_budget.message_tokens": lambda text: message_tokens(
        _parts(text), Profile(name="m", provider="openai"), len
    ),
    "catalog.payload.split_payloads": lambda text: split_payloads({"data": text, "url": f"data:{text};base64,{text}"}),
    "catalog.payload.written": lambda text: written({text: [text]}),
    "cli.screen.plain": plain,
    "cli.screen.printable_json": printable_json,
    "dialects.gemini_check.either": lambda text: either({"functionCall": {"name": text}}, "functionCall"),
    "dialects.image_size.data_url": lambda text: (data_url(text), data_url(f"data:{text},"), data_url(f"data:{text};base64,")),
    "dialects.image_size.image_size": lambda text: (image_size(text), image_size(f"/9j{text}")),
    "dialects.responses_items.known_item": known_item,
    "dialects.registry.dialect_of": lambda text: dialect_of({"role": text, "content": [{"type": text}]}, "openai"),
    "dialects.registry.parse": lambda text: parse({"role": "user", "content": text, "name": text, "id": text}),
    "dialects.system_prompt.apart": lambda text: apart({"role": "system", "parts": [{"text": text}]}, "anthropic"),
    "dialects.system_prompt.system_prompt": lambda text: (
        system_prompt(text, "openai"),
        system_prompt([text, {"text": text}], "gemini"),
    ),
    "dialects.shaping.shaping": lambda text: shaping([_parts(text)], Profile(name="m", provider="openai"), len),
    "dialects.wording.sendable": sendable,
    "dialects.wording.tool_name": tool_name,
    "dialects.wording.json_object": lambda text: (json_object(text), json_object(f'{{"a": {text}}}'), json_object(f'"{text}"')),
    "dialects.wording.json_text": json_text,
    "dialects.wording.call_as_text": lambda text: call_as_text(ToolCall(id=text, name=text, arguments=text)),
    "dialects.wording.result_as_text": lambda text: result_as_text(ToolResult(call_id=text, name=text, text=text)),
    "dialects.wording.image_note": lambda text: image_note(Image(url=text)),
    "embedders.distilled.Distilled.embed_now": lambda text: _KNOWN.embed_now([text]),
    "embedders.static.Static.embed_now": lambda text: _STATIC.embed_now([text]),
    "embedders.word_vectors.StaticWordVectors.cosines": lambda text: _WORDS.cosines(_STEMS, [text]),
    "events.screened_message.screened": lambda text: screened(
        cast("PreparedMessage", PreparedMessage.of(Message.of("user", f"x{text}"), {"content": [text]}, "UTC")), "redact"
    ),
    "events.prepared_message.clean": whole,
    "events.prepared_message.slim": lambda text: slim({"a": text, text: [f"data:{text}", f"data:a;base64,{text}"]}),
    "events.prepared_message.PreparedMessage.of": lambda text: PreparedMessage.of(
        Message.of("user", text, name=text[:9]), {"content": [text]}, "UTC"
    ),
    "pipeline.gather.about.names_one": lambda text: names_one(text, (text[:100].casefold() + "?", "a")),
    "pipeline.gather.candidates.verbatim": lambda text: verbatim(_QUERY, text, Evidence()),
    "pipeline.gather.vector.nameless": lambda text: nameless(text, ("Caroline", "a a", text[:40])),
    "grpc.outgoing.text": wire_text,
    "grpc.refusals.refusal": lambda text: refusal(InvalidInput(f"model {text!r}: '{text}' and {text}")),
    "pipeline.inject.inject.inject": lambda text: inject(_request(text), text, text, placement="split").convert("anthropic"),
    "pipeline.inject.returned.without_returned": lambda text: without_returned(
        _request(f'<memory nonce="{_NONCE}">{text}</memory>{text}'), _NONCE
    ),
    "memories.checks.words": taken(lambda text: checks.words("text", text)),
    "memories.checks.label": taken(lambda text: checks.label("key", text)),
    "memories.checks.moment": taken(lambda text: checks.moment("since", text, "UTC")),
    "memories.checks.json_value": taken(lambda text: checks.json_value("value", [text, {text: text}])),
    "memories.compose.compose": taken(lambda text: compose(text, kind="fact", given={"key": text})),
    "types.message.Message.content": lambda text: _parts(text).content,
    "access.pseudonym.pseudonym": lambda text: pseudonym(b"key", text),
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
