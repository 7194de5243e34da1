"""Graph readers: the functions of the graph that read untrusted text, for `bench/readers.py`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType

from germane.kinds.graph.aliases import index_keys, lookup_keys, name_key, resolve
from germane.kinds.graph.extraction.days import date_key, hide_dates
from germane.kinds.graph.extraction.entities import extract_entities, has_unspaced, unspaced_names
from germane.kinds.graph.extraction.relations import extract_relations
from germane.kinds.graph.extraction.shapes import hide_phrases
from germane.kinds.graph.extraction.tokens import is_tool, without_ending
from germane.kinds.graph.llm_extraction import UnusableGraph, accepted_graph, graph_question, sent_text
from germane.kinds.graph.name_forms import (
    first_forms,
    fits_organisation,
    fits_person,
    http_status,
    place_alias,
    tool_alias,
    without_legal_form,
    without_titles,
)
from germane.kinds.graph.value import ENTITY_TYPES

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
        "kinds.graph.aliases.name_key": lambda text: [name_key(text, type) for type in ("", *ENTITY_TYPES)],
        "kinds.graph.aliases.index_keys": lambda text: [index_keys(text, type) for type in ENTITY_TYPES],
        "kinds.graph.aliases.lookup_keys": lambda text: [lookup_keys(text, type) for type in ENTITY_TYPES],
        "kinds.graph.aliases.resolve": lambda text: [resolve(text, type, {}) for type in ENTITY_TYPES],
        "kinds.graph.name_forms.first_forms": first_forms,
        "kinds.graph.name_forms.fits_organisation": lambda text: (
            fits_organisation(text, "a b"),
            fits_organisation(text, text),
        ),
        "kinds.graph.name_forms.fits_person": lambda text: (fits_person(text, [text]), fits_person("anna", [text])),
        "kinds.graph.name_forms.http_status": http_status,
        "kinds.graph.name_forms.place_alias": place_alias,
        "kinds.graph.name_forms.tool_alias": tool_alias,
        "kinds.graph.name_forms.without_legal_form": without_legal_form,
        "kinds.graph.name_forms.without_titles": without_titles,
        "kinds.graph.extraction.days.date_key": date_key,
        "kinds.graph.extraction.days.hide_dates": lambda text: hide_dates(f"7 May 2023 {text}", []),
        "kinds.graph.extraction.entities.extract_entities": lambda text: (
            extract_entities(text, speaker=text[:99]),
            extract_entities(f"$ git\n`{text}` 2023 http://{text} Dear Anna {text} works at {text}"),
        ),
        "kinds.graph.extraction.tokens.is_tool": is_tool,
        "kinds.graph.extraction.tokens.without_ending": without_ending,
        "kinds.graph.extraction.relations.extract_relations": _related,
        "kinds.graph.extraction.shapes.hide_phrases": lambda text: hide_phrases(f"http://{text} a@{text} HTTP 4{text}", []),
        "kinds.graph.extraction.entities.has_unspaced": has_unspaced,
        "kinds.graph.extraction.entities.unspaced_names": lambda text: list(unspaced_names(f"東京{text}さん")),
        "kinds.graph.llm_extraction.graph_question": lambda text: graph_question(text, speaker=text, nonce="n"),
        "kinds.graph.llm_extraction.sent_text": sent_text,
        "kinds.graph.llm_extraction.accepted_graph": lambda text: (_accepted(text, "a"), _accepted(_listed(text), text)),
    }
)

_OF_CODE = "given by germane's own code"
_PROTOCOL = "a protocol"
GRAPH_UNREAD: Mapping[str, str] = MappingProxyType(
    {
        "kinds.graph.extraction.tokens.cue": _OF_CODE,
        "kinds.graph.extraction.tokens.folded": _OF_CODE,
        "kinds.graph.extraction.tokens.stemmed": _OF_CODE,
        "kinds.graph.extraction.tokens.words": _OF_CODE,
    }
)
