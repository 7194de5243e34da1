"""Asks: whether a question asks for a time, for a proper name, or for an overview of many things."""

from __future__ import annotations

import re

from germane.pipeline.signals.word_set import lacks_all

__all__ = ["asks_name", "asks_overview", "asks_when"]

_Part = tuple[frozenset[str], re.Pattern[str]]
"""Words of which at least one must occur for the pattern to match, and the pattern. Patterns for other scripts have no
words."""


def _part(words: str, pattern: str) -> _Part:
    return frozenset(words.split()), re.compile(pattern, re.IGNORECASE)


_WHEN = (
    _part(
        "when",
        r"\bwhen(?:['’]s)?\s+(?:is|are|was|were|do|does|did|will|would|has|have|had|can|could|should|exactly)\b|\bwhen\s*\?"
        r"|^\s*when\b[^.!]{0,300}\?|\b(?:tell me|know|remember|say|said|show me|find out|since|until|ask|asked) when\b",
    ),
    _part(
        "what which",
        r"\b(?:what|which) (?:\w+ )?(?:date|time|day|days|week|month|year|weekday|season|hour|dates|years|months)\b"
        r"|\bat what age\b",
    ),
    _part(
        "how",
        r"\bhow (?:long|often|recently|soon|frequently)\b"
        r"|\bhow many (?:more )?(?:days|weeks|months|years|hours|minutes|times)\b",
    ),
    _part(
        "wann quand cuando wanneer milloin kiedy quando",
        r"\b(?:wann|quand|cuando|wanneer|milloin|kiedy)\b|(?:^|[¿,]\s*)quando\b",
    ),
    _part(
        "",
        r"\b(?:cuándo|hvornår|когда|متى|कब)\b|什么时候|什麼時候|何时|哪天|哪年|几点|多久|いつ|何時|何日|언제|며칠|เมื่อไหร่|เมื่อไร",
    ),
)
_NAMED_THINGS = (
    "book|books|novel|song|songs|album|movie|movies|film|films|show|series|game|games|place|places|name|names|title|titles|city"
    "|cities|country|countries|state|town|village|band|bands|artist|artists|author|authors|singer|actor|actress|company"
    "|companies|brand|restaurant|cafe|school|university|college|hotel|museum|park|beach|street|team|club|person|people|friend"
    "|pet|dog|cat|podcast|musician|musicians|painter|writer|character|app|website|store|shop|organization|library|language"
    "|framework|model"
)
_NAME = (
    _part("who whose whom where", r"\b(?:who|whose|whom|where|who['’]s|where['’]s)\b"),
    _part("what which", rf"\b(?:what|which)(?: [\w'’-]+){{0,3}}? (?:{_NAMED_THINGS})\b"),
    _part("name names called named", r"\bnames? of\b|\b(?:called|named)\s*\?"),
    _part(
        "wer wessen wem wo wohin qui quien donde chi dove quem onde kto gdzie",
        r"\b(?:wer|wessen|wem|wo|wohin|qui|quien|donde|chi|dove|quem|onde|kto|gdzie)\b",
    ),
    _part(
        "",
        r"\b(?:où|quién|quiénes|dónde|wie heißt|кто|где|куда|أين|कौन|कहाँ)\b"
        r"|谁|誰|哪里|哪儿|哪個|哪个|叫什么|どこ|누구|어디|ใคร|ที่ไหน",
    ),
)


_OVERVIEW = re.compile(
    r"\b(?:summar(?:y|ies|i[sz]e[sd]?|i[sz]ing)|overviews?|recaps?|timelines?|chronolog\w{0,8}"
    r"|walk me through (?!how (?:to|you|do|does|can|would)\b)|sequence of|(?:in|the) (?:what |which )?order|over time"
    r"|throughout (?:our|the|my)|everything (?:about|you|we|i)|(?:catch|get|bring) me up to|catch me up"
    r"|what (?:have|did|had) we (?:already |all )?(?:discuss|cover|talk|do|done|decide|go over|gone over|work)\w{0,3}"
    r"|(?:steps?|topics?|things?|points?|decisions?) (?:\w{1,12} ){0,4}so far"
    r"|zusammenfass\w{0,8}|fass\w{0,3} .{0,60} zusammen|überblick|reihenfolge|chronologisch\w{0,2}|der reihe nach"
    r"|(?:worüber|was) haben wir (?:\w{1,15} ){0,4}(?:gesprochen|besprochen|geredet|gemacht|beschlossen)"
    r"|(?:schritte|themen|punkte) (?:\w{1,15} ){0,3}bisher|bisherige\w? (?:schritte|themen|punkte|entscheidungen)"
    r"|résum\w{0,8}|récapitul\w{0,8}|vue d['’]ensemble|(?:ordre dans lequel|dans quel ordre)|fai[ts]\w{0,3} le point"
    r"|(?:de quoi|qu['’]) ?(?:avons[- ]nous|on a|a-t-on) (?:\w{1,12} ){0,2}(?:parlé|discuté|fait|décidé|vu)"
    r"|(?:étapes|sujets|points|décisions) (?:\w{1,12} ){0,3}jusqu['’](?:ici|à présent)"
    r"|resum(?:en|enes|ir|irme|irnos|ido|iendo|o|os|a|am|amos|ir-me)"
    r"|resum[ae] (?:lo|la|las|los|el|o|os|as|todo|tudo|nuestr\w{1,3})"
    r"|resúme\w{0,4}|cronol\w{0,8}|(?:en qué|en el|el|em que|na|a) ord(?:en|em) en? ?que|en qué orden|em que ordem"
    r"|(?:de qué|sobre qué|qué) (?:hemos|habíamos) (?:hablado|visto|hecho|decidido|tratado)"
    r"|(?:pasos|temas|puntos|decisiones) (?:\w{1,12} ){0,3}hasta (?:ahora|aquí)"
    r"|(?:sobre o que|do que|o que) (?:nós )?(?:já )?(?:falamos|conversamos|discutimos|fizemos|decidimos|vimos)"
    r"|(?:passos|temas|pontos|decisões) (?:\w{1,12} ){0,3}até (?:agora|aqui)"
    r"|riassu\w{0,8}|riepilog\w{0,8}|in (?:che|quale) ordine|panoramica"
    r"|(?:di (?:che )?cosa|che cosa|cosa) abbiamo (?:già )?(?:parlato|discusso|fatto|deciso|visto)"
    r"|(?:passi|passaggi|temi|punti|decisioni) (?:\w{1,12} ){0,3}(?:finora|fin qui)"
    r"|samenvat\w{0,8}|overzicht|volgorde|özet\w{0,8}|podsum\w{0,8}|sammanfatt\w{0,8})\b"
    r"|обзор|подведи итог|подытож|резюмируй|хронолог|в каком порядке"
    r"|(?:о чём|о чем|что) мы (?:уже )?(?:говорили|обсуждали|обсудили|сделали|решили)"
    r"|(?:шаги|темы|решения)[^.?!]{0,40} (?:до сих пор|на данный момент)"
    r"|总结|總結|概述|时间线|顺序|まとめて|要約|順番|時系列|요약|순서|لخص|ملخص",
    re.IGNORECASE,
)
_OVERVIEW_PARTS = (
    *("summar", "overview", "recap", "timeline", "chronolog", "walk me through", "sequence of", "order", "over time"),
    *("throughout", "everything", "me up", "have we", "did we", "had we", "so far", "zusammen", "reihe", "haben wir", "bisher"),
    *("vue d'", "ordre", "le point", "de quoi", "qu'", "resum", "cronol", "orden", "ordem", "hemos", "hasta", "o que"),
    *("riassu", "riepilog", "ordine", "panoramica", "abbiamo", "finora", "fin qui", "samenvat", "overzicht", "volgorde"),
    *("podsum", "sammanfatt"),
)
"""Of which an ASCII text has one where the pattern matches: looking for these takes a twentieth of the pattern's time."""
_MAX_OVERVIEW_WORDS = 80
"""A longer request brings the text that it wants summarised."""


def asks_overview(text: str, words: int) -> bool:
    """Whether the request, of so many words, asks for a summary, an overview or an order of events: for many things at once."""
    if words > _MAX_OVERVIEW_WORDS or (text.isascii() and not _has_part(text.lower())):
        return False
    return _OVERVIEW.search(text) is not None


def _has_part(text: str) -> bool:
    return any(map(text.__contains__, _OVERVIEW_PARTS))


def asks_when(text: str) -> bool:
    """Whether the question asks for a time, a duration or a frequency."""
    return _any(text, _WHEN)


def asks_name(text: str) -> bool:
    """Whether the answer is probably a proper name: of a person, a place, a title."""
    return _any(text, _NAME)


def _any(text: str, parts: tuple[_Part, ...]) -> bool:
    return any(not lacks_all(text, words) and pattern.search(text) for words, pattern in parts)
