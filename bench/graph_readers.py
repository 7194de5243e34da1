"""Graph readers: the functions of the graph that read untrusted text, for `bench/readers.py`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType

from germane.graph.aliases import index_keys, lookup_keys, name_key, resolve
from germane.graph.extraction.days import date_key, hide_dates
from germane.graph.extraction.extract import extract_entities
from germane.graph.extraction.found import ENTITY_TYPES
from germane.graph.extraction.lexicon import is_tool, without_ending
from germane.graph.extraction.relations import extract_relations
from germane.graph.extraction.shapes import hide_phrases
from germane.graph.extraction.unspaced import has_unspaced, unspaced_names
from germane.graph.llm_extraction.question import graph_question, sent_text
from germane.graph.llm_extraction.reading import UnusableGraph, accepted_graph
from germane.graph.name_forms import (
    first_forms,
    fits_organisation,
    fits_person,
    http_status,
    place_alias,
    tool_alias,
    without_legal_form,
    without_titles,
)

__all__ = ["GRAPH_READERS", "GRAPH_UNREAD"]


def _accepted(answer: str, said: str) -> object:
    try:
        return accepted_graph(answer, said, speaker="Ana")
    except UnusableGraph:
        return None


def _listed(text: str) -> str:
    """A language model's answer that is made of this text."""
    relation = {"source": text, "type": "knows", "target": "speaker", "quote": text, "confidence": 1}
    return json.dumps({"entities": [{"type": "person", "names": [text]}], "relations": [relation]})


def _related(text: str) -> object:
    said = f"Anna's {text} and `a.py` in {text} my sister Anna {text} works at Siemens since {text}"
    return extract_relations(said, extract_entities(said, speaker=text[:80]), speaker="Ana")


GRAPH_READERS: Mapping[str, Callable[[str], object]] = MappingProxyType(
    {
        "graph.aliases.name_key": lambda text: [name_key(text, type) for type in ("", *ENTITY_TYPES)],
        "graph.aliases.index_keys": lambda text: [index_keys(text, type) for type in ENTITY_TYPES],
        "graph.aliases.lookup_keys": lambda text: [lookup_keys(text, type) for type in ENTITY_TYPES],
        "graph.aliases.resolve": lambda text: [resolve(text, type, {}) for type in ENTITY_TYPES],
        "graph.name_forms.first_forms": first_forms,
        "graph.name_forms.fits_organisation": lambda text: (fits_organisation(text, "a b"), fits_organisation(text, text)),
        "graph.name_forms.fits_person": lambda text: (fits_person(text, [text]), fits_person("anna", [text])),
        "graph.name_forms.http_status": http_status,
        "graph.name_forms.place_alias": place_alias,
        "graph.name_forms.tool_alias": tool_alias,
        "graph.name_forms.without_legal_form": without_legal_form,
        "graph.name_forms.without_titles": without_titles,
        "graph.extraction.days.date_key": date_key,
        "graph.extraction.days.hide_dates": lambda text: hide_dates(f"7 May 2023 {text}", []),
        "graph.extraction.extract.extract_entities": lambda text: (
            extract_entities(text, speaker=text[:99]),
            extract_entities(f"$ git\n`{text}` 2023 http://{text} Dear Anna {text} works at {text}"),
        ),
        "graph.extraction.lexicon.is_tool": is_tool,
        "graph.extraction.lexicon.without_ending": without_ending,
        "graph.extraction.relations.extract_relations": _related,
        "graph.extraction.shapes.hide_phrases": lambda text: hide_phrases(f"http://{text} a@{text} HTTP 4{text}", []),
        "graph.extraction.unspaced.has_unspaced": has_unspaced,
        "graph.extraction.unspaced.unspaced_names": lambda text: list(unspaced_names(f"東京{text}さん")),
        "graph.llm_extraction.question.graph_question": lambda text: graph_question(text, speaker=text, nonce="n"),
        "graph.llm_extraction.question.sent_text": sent_text,
        "graph.llm_extraction.reading.accepted_graph": lambda text: (_accepted(text, "a"), _accepted(_listed(text), text)),
    }
)

_OF_CODE = "given by germane's own code"
_PROTOCOL = "a protocol"
GRAPH_UNREAD: Mapping[str, str] = MappingProxyType(
    {
        "graph.extraction.lexicon.cue": _OF_CODE,
        "graph.extraction.lexicon.folded": _OF_CODE,
        "graph.extraction.lexicon.stemmed": _OF_CODE,
        "graph.extraction.lexicon.words": _OF_CODE,
        "graph.reader.GraphReader.chain": _PROTOCOL,
        "graph.reader.GraphReader.mentions": _PROTOCOL,
        "graph.reader.GraphReader.page": _PROTOCOL,
        "graph.reader.GraphReader.path": _PROTOCOL,
        "graph.reader.GraphReader.patterns": _PROTOCOL,
        "graph.reader.GraphReader.relations": _PROTOCOL,
    }
)
