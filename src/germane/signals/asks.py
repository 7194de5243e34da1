"""Asks: what shape the answer will have. A time, or a proper name."""

from __future__ import annotations

import re

__all__ = ["asks_name", "asks_when"]

_WHEN = re.compile(
    r"\bwhen(?:['’]s)?\s+(?:is|are|was|were|do|does|did|will|would|has|have|had|can|could|should|exactly)\b|\bwhen\s*\?"
    r"|^\s*when\b[^.!]{0,300}\?|\b(?:tell me|know|remember|say|said|show me|find out|since|until|ask|asked) when\b"
    r"|\b(?:what|which) (?:\w+ )?(?:date|time|day|days|week|month|year|weekday|season|hour|dates|years|months)\b"
    r"|\bhow (?:long|often|recently|soon|frequently)\b|\bhow many (?:more )?(?:days|weeks|months|years|hours|minutes|times)\b"
    r"|\bat what age\b|\b(?:wann|quand|cuándo|cuando|wanneer|hvornår|milloin|когда|kiedy|متى|कब)\b"
    r"|(?:^|[¿,]\s*)quando\b|什么时候|什麼時候|何时|哪天|哪年|几点|多久|いつ|何時|何日|언제|며칠|เมื่อไหร่|เมื่อไร",
    re.IGNORECASE,
)
_TITLED = (
    "book|books|novel|song|songs|album|movie|movies|film|films|show|series|game|games|place|places|name|names|title|titles|city"
    "|cities|country|countries|state|town|village|band|bands|artist|artists|author|authors|singer|actor|actress|company"
    "|companies|brand|restaurant|cafe|school|university|college|hotel|museum|park|beach|street|team|club|person|people|friend"
    "|pet|dog|cat|podcast|musician|musicians|painter|writer|character|app|website|store|shop|organization|library|language"
    "|framework|model"
)
_NAME = re.compile(
    r"\b(?:who|whose|whom|where|who['’]s|where['’]s)\b"
    rf"|\b(?:what|which)(?: [\w'’-]+){{0,3}}? (?:{_TITLED})\b|\bnames? of\b|\b(?:called|named)\s*\?"
    r"|\b(?:wer|wessen|wem|wo|wohin|qui|où|quién|quiénes|quien|dónde|donde|chi|dove|quem|onde|wie heißt|кто|где|куда|kto|gdzie"
    r"|أين|कौन|कहाँ)\b|谁|誰|哪里|哪儿|哪個|哪个|叫什么|どこ|누구|어디|ใคร|ที่ไหน",
    re.IGNORECASE,
)


def asks_when(text: str) -> bool:
    """Whether the question is about a time, a span of time or a frequency."""
    return _WHEN.search(text) is not None


def asks_name(text: str) -> bool:
    """Whether the answer is likely a proper name: a person, a place, a title."""
    return _NAME.search(text) is not None
