"""Asks: what kind of answer a request asks for: a time, a name, an overview, help, or something personal.

The kind of help (SIG-2) is told by whole words: `debug` isn't `bug`. A request is personal if it speaks of the user's own
affairs, of somebody known, or of what was said before (NEED-1).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from datetime import date, timedelta
from functools import lru_cache
from types import MappingProxyType

from germane.stages.read.past_forms import LANGUAGES, UNSPACED, Language
from germane.text.clauses import WIDE
from germane.text.days.beside import Beside, besides
from germane.text.days.times import NamedDays
from germane.text.days.vocabulary import unaccented
from germane.text.specifics import is_question
from germane.text.terms import query_terms
from germane.types.query import Anchor, DayAsked, Days, Intent, Term

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


# The kind of help that a request asks for (SIG-2).


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


# Whether a request is personal (NEED-1).


_PERSONAL_WORDS = """
    my mine myself our ours ourselves he him his she her hers
    mein meine meinen meinem meiner meines unser unsere unseren unserem unserer
    mon ma mes notre nos mi mis nuestro nuestra nuestros nuestras mio mia miei mie nostro nostra nostri nostre
    meu minha meus minhas nosso nossa nossos nossas mijn onze min mitt mina vår vårt våra mój moja moje moich nasz nasza nasze
    мой моя моё мое мои моего моей моих наш наша наше наши нашего нашей benim bizim
"""
_PERSONAL_SET = frozenset(_PERSONAL_WORDS.split())
_ANY_WORD = re.compile(r"[^\W\d_]+")
_PERSONAL_PHRASES = re.compile(
    r"\b(?:about me|know me|for us|did (?:i|we)|have (?:i|we)|had (?:i|we)|remember|remind|recall|last time|the other day"
    r"|as usual|the usual|(?:i|we) (?:said|told|mentioned|discussed|agreed|decided|talked|spoke))\b"
    r"|我的|我们|我們|记得|記得|上次|私の|僕の|俺の|私たち|覚えて|前回|내\s|우리|기억",
    re.IGNORECASE,
)


def is_personal(text: str) -> bool:
    """Whether the text has a possessive of the first person, a pronoun for a person, or words such as "remember" and "did I",
    in one of a dozen languages. `I` and `me` alone say nothing: "how do I sort a list", "tell me a joke"."""
    return not _PERSONAL_SET.isdisjoint(_ANY_WORD.findall(text.casefold())) or _PERSONAL_PHRASES.search(text) is not None


# The words of a text, to rule out quickly that a pattern can match before it is searched for.


_ASCII_WORD = re.compile(r"[a-z]+")


@lru_cache(maxsize=8)
def word_set(text: str) -> frozenset[str] | None:
    """The words of an ASCII text in lower case, letters only; None for a text that isn't ASCII, which may contain any word."""
    return frozenset(_ASCII_WORD.findall(text.lower())) if text.isascii() else None


def lacks_all(text: str, words: Set[str]) -> bool:
    """Whether the text certainly contains none of these words. One check of a set is faster than searching for each word, and
    usually the answer is True."""
    found = word_set(text)
    return found is not None and found.isdisjoint(words)


# Asks day: whether a request asks what was said, done or known on a past day or span that it names (PERSON-5). It asks
# so where a word that asks is followed, in the same clause, by a form of the past ("what did I", "was hatte ich") or by
# days that can only be past ("anything from last Tuesday"). It speaks of the user or to the assistant, unless it names
# nothing but the days: who won the match yesterday isn't known from all that was said yesterday. A day that is named
# for the future, or to tell something, isn't asked about: "remind me on Friday", "dinner on Saturday?", "yesterday I
# burnt the pan, how do I clean it".


_MAX_WORDS = 80
"""A longer request brings its own text."""
_MAX_SPAN = 92
"""Days of the longest span whose messages are asked for as such; in a longer one the words must find them."""
_MAX_DAYS = 3
_MAX_BETWEEN = 12
"""Words between one that asks and the past that it asks for."""
_WEEK = timedelta(days=7)
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_CLAUSE = re.compile(r"[^.!?;:\n,]+")
_OTHERS = frozenset(["he", "she", "it", "they", "there", "the", "anyone", "anything", "er", "es", "man", "il", "elle", "on"])
_ANSWERS = re.compile(
    r"\b(?:did|had|have) you (?:say|said|tell|told|suggest|recommend|explain|write|give|given|advise|answer)"
    r"|\byou (?:said|told|suggested|recommended|gave|explained|wrote|answered|advised|listed|proposed|came up)\b"
    r"|\byour (?:answer|advice|suggestion|list|recommendation|reply)\b"
    r"|\b(?:hast|hattest) du|\bhatten sie mir|\bhaben sie mir|\bas-tu|\bavez-vous|\bm'(?:as|avais|avez)|\bdijiste"
    r"|\brecomendaste|\bme diste|\bsugeriste|\bhai (?:detto|consigliato)|\bmi (?:hai|avevi)|\bvoce (?:disse|me)"
    r"|\b(?:heb|had|zei) je"
    r"|\bpowiedzial[ea]s|\bdoradzil[ea]s|\bты (?:мне )?(?:сказал|советовал|посоветовал|написал|предлагал)|\bsade du|\bsoyledin"
    r"|\bonerdin|你(?:给我|給我)?(?:说|說|告诉|告訴|推荐|推薦|建议|建議)|教えてくれ|勧めてくれ|추천해|말해 ?줬|알려 ?줬"
)
_UNSPACED_ASK = re.compile(
    r"什么|什麼|甚麼|啥|哪|谁|誰|怎么|怎麼|几|多少|吗|嗎|回顾|回顧|总结|總結|何|なに|どこ|どんな|だれ|ですか|ましたか|たっけ|まとめ"
    r"|뭐|뭘|무엇|무슨|어디|누구|어떤|정리|요약|까\?|나\?"
)
_UNSPACED_PAST = re.compile(
    r"了|过|過|说的|說的|让你|讓你|叫你|请你|請你|问你|問你|聊|那天|那晚|来着|た|っけ|었|았|였|했|던|난|낸|간 "
)
_UNSPACED_OWN = re.compile(r"我|你|咱|私|僕|俺|ました|たっけ|나|내|우리|저|제|했지|었지|았지")
_UNSPACED_GENERAL = re.compile(
    r"什么|什麼|啥|哪些|哪|谁|怎么|几件?|多少|吗|嗎|总结|一下|我们|我們|我|你|咱们|咱|让|讓|叫|请|跟|和|对|說|说|聊|讲|講|问|問|做|弄|干"
    r"|查|东西|東西|事情|事|话|話|都|有|的|了|过|過|是|在|那个|那些|那|这|个|要|想|来着|记得|晚上|早上|下午|天|，|。|？"
    r"|何|なに|どんな|を|に|は|が|で|と|も|の|こと|話し|話|言い|言っ|頼ん|頼み|聞い|し|まし|た|っけ|か|私|僕|俺|あなた|だ|です|って|い"
    r"|뭐|뭘|무엇|무슨|어떤|했|말|얘기|이야기|한|하|물어|부탁|었|았|지|어|요|나|내|가|는|은|를|을|우리|너|에|게|달라|고|더라|라"
)
_GENERAL_WORDS = """
    say said tell told talk talked talking speak spoke chat discuss discussed mention mentioned ask asked asking want wanted
    look looked find do did done doing happen happened thing things stuff everything anything something list need needed get
    got go went come came job jobs task tasks remember remind recap summarise summarize summary know again write wrote leave
    left cover covered all up about sagen gesagt erzählen erzählt sprechen gesprochen besprochen geredet machen gemacht fragen
    gefragt passiert los lassen aufgetragen erledigen gebeten sachen dinge dire dit parler parlé raconter raconté demander
    demandé faire fait passé choses chose decir dije dijiste hablar hablamos pedir pedí pedido encargar encargué contar conté
    hacer hice pasar pasó cosas cosa pendiente pendientes dire detto parlare parlato raccontato chiesto fare fatto successo
    cose dizer disse falar falei falamos pedi fazer fiz aconteceu coisas zeggen gezegd verteld besproken gevraagd gedaan doen
    gebeurd dingen gehad mówiłem mówiłam powiedziałem powiedziałam rozmawialiśmy robiłem robiłam prosiłem prosiłam rzeczy
    stało сказал сказала говорил говорила говорили рассказывал рассказывала обсуждали делал делала просил просила случилось
    происходило dedim söyledim konuştuk yaptım sordum istedim oldu säga sa pratade berättade frågade gjorde hände saker gjort
    sagt pratat day days night evening morning afternoon tag jour día giorno dia dag dzień день gün
"""
_GENERAL = frozenset(map(unaccented, _GENERAL_WORDS.split()))
"""Words that say nothing of what a talk was about."""


def asked_day(text: str, named: Sequence[NamedDays], today: date, words: int) -> DayAsked | None:
    """What the request asks about the past days among those that it names, or about days named by an event; None where it asks
    no such thing. `named` are the days that `text` names."""
    if words > _MAX_WORDS:
        return None
    past = [one for one in named if one.days.first <= today and (one.days.last - one.days.first).days < _MAX_SPAN]
    beside = [one for one in besides(text) if not any(_overlap(one, other) for other in named)][:1]
    if not (past or beside):
        return None
    rest = _blanked(text, [*((one.start, one.end) for one in named), *((one.start, one.end) for one in beside)])
    tongues = _asking_of_the_past(_without_events(text, beside) if WIDE.search(text) else rest)
    if tongues is None:
        before = [(one, asking) for one in past if one.sure and one.days.last < today and (asking := _asking_before(text, one))]
        past, beside = [one for one, _ in before], []
        tongues = [tongue for _, asking in before for tongue in asking]
    if not (past or beside):
        return None
    topic = _topic(rest)
    if topic and not _own(rest, tongues):
        return None
    return DayAsked(
        days=tuple(dict.fromkeys(_until(today, days) for one in past for days in _meant(one, today)))[:_MAX_DAYS],
        anchors=tuple(_anchor(one) for one in beside),
        topic=topic,
        answers=_ANSWERS.search(unaccented(text)) is not None,
    )


def _without_events(text: str, beside: Sequence[Beside]) -> str:
    """The text without what names days by an event: in a script without forms of verbs, `那天` with a date says that it is
    past, and with an event doesn't."""
    return _blanked(text, [(one.start, one.end) for one in beside])


def _overlap(one: Beside, other: NamedDays) -> bool:
    return one.start < other.end and other.start < one.end


def _meant(named: NamedDays, today: date) -> Iterator[Days]:
    """The days, and for a weekday that is today's also the one before: who says "on Friday" on a Friday may mean either."""
    yield named.days
    if named.weekday and not named.sure and named.days.first == today:
        yield Days(first=today - _WEEK, last=today - _WEEK)


def _until(today: date, days: Days) -> Days:
    return days if days.last <= today else Days(first=days.first, last=today, grain=days.grain)


def _anchor(beside: Beside) -> Anchor:
    return Anchor(
        event=beside.event,
        terms=query_terms(beside.event),
        first=beside.first,
        last=beside.last,
        weekday=beside.weekday,
    )


def _asking_of_the_past(text: str) -> list[Language] | None:
    """The languages in which a clause has a word that asks and behind it a form of the past; None where there is none."""
    if WIDE.search(text):
        return [UNSPACED] if _UNSPACED_ASK.search(text) and _UNSPACED_PAST.search(text) else None
    clauses = [[word.lower().replace("’", "'") for word in _WORD.findall(clause[0])] for clause in _CLAUSE.finditer(text)]
    return [tongue for tongue in LANGUAGES if any(_asks_past(clause, tongue) for clause in clauses)] or None


def _asks_past(words: Sequence[str], tongue: Language) -> bool:
    asked = next((index for index, word in enumerate(words) if unaccented(word) in tongue.asks), None)
    if asked is None:
        return False
    behind = words[asked : asked + _MAX_BETWEEN]
    if len(behind) > 1 and (unaccented(behind[1]) in tongue.own or behind[1] in _OTHERS):  # "did I", "hatte ich"
        if tongue.is_past(behind[0]):
            return True
    elif unaccented(behind[0]) in tongue.past:
        behind = behind[1:]
    if any(tongue.is_past(word) for word in behind[1:]):
        return True
    have = next((index for index, word in enumerate(behind) if unaccented(word) in tongue.have), None)
    pattern = tongue.participles
    return have is not None and pattern is not None and any(pattern.fullmatch(word) for word in behind[have + 1 :])


def _asking_before(text: str, named: NamedDays) -> list[Language]:
    """The languages in which the clause of the days, as far as they, asks something that isn't about what to do."""
    if WIDE.search(text):
        return [UNSPACED] if _UNSPACED_ASK.search(text) else []
    clause = next((one for one in _CLAUSE.finditer(text) if one.start() <= named.start < one.end()), None)
    if clause is None:
        return []
    words = [unaccented(word) for word in _WORD.findall(text[clause.start() : named.start])][-_MAX_BETWEEN:]
    return [one for one in LANGUAGES if not (one.asks - one.past).isdisjoint(words) and one.modal.isdisjoint(words)]


def _own(text: str, tongues: Sequence[Language]) -> bool:
    """Whether the text speaks of the user or to the assistant, in one of these languages."""
    if UNSPACED in tongues and _UNSPACED_OWN.search(text):
        return True
    words = [word.lower().replace("’", "'") for word in _WORD.findall(text)]
    return any(tongue.is_own(word) for tongue in tongues for word in words)


def _topic(rest: str) -> tuple[Term, ...]:
    """The terms that aren't of the days, nor of the asking."""
    if WIDE.search(rest):
        rest = _UNSPACED_GENERAL.sub(" ", rest)
    return tuple(term for term in query_terms(rest) if not _says_nothing(term.word))


def _says_nothing(word: str) -> bool:
    plain = unaccented(word)
    return plain in _GENERAL or any(
        plain in part for tongue in LANGUAGES for part in (tongue.asks, tongue.past, tongue.own, tongue.have)
    )


def _blanked(text: str, places: Sequence[tuple[int, int]]) -> str:
    for start, end in places:
        text = text[:start] + " " * (end - start) + text[end:]
    return text
