"""Past forms: the words that ask, and the forms of verbs that say that something is past, by language.

The tables are of closed classes: question words, auxiliaries, endings of the past, pronouns of the first and second person.
Words are compared without accents, endings with them, as an accent often is the ending ("hablo", "habló").
"""

from __future__ import annotations

import re
from typing import NamedTuple

from germane.text.days.vocabulary import unaccented


class Language(NamedTuple):
    """`asks` are words that ask, `past` forms that are past by themselves, `endings` a pattern of such forms;
    of an auxiliary in `have` a participle must follow, by `participles`. `own` are pronouns that speak of the user or to the
    assistant; of languages that leave them out, `own_endings` is a pattern of verbs that do. `modal` are words for what isn't
    past."""

    asks: frozenset[str]
    past: frozenset[str]
    own: frozenset[str]
    endings: re.Pattern[str] | None = None
    have: frozenset[str] = frozenset()
    participles: re.Pattern[str] | None = None
    own_endings: re.Pattern[str] | None = None
    modal: frozenset[str] = frozenset()

    def is_past(self, word: str) -> bool:
        return unaccented(word) in self.past or bool(self.endings and self.endings.fullmatch(word))

    def is_own(self, word: str) -> bool:
        return unaccented(word) in self.own or bool(self.own_endings and self.own_endings.fullmatch(word))


def _set(words: str) -> frozenset[str]:
    return frozenset(unaccented(word) for word in words.split())


def _pattern(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


_ENGLISH = Language(
    asks=_set(
        "what what's whats which who who's whom whose where when how why did was were had anything everything something stuff"
        " things list notes remind remember recap summarise summarize summary wot wut"
    ),
    past=_set(
        "did didn't was were had said told went happened came wrote sent ate drank bought spent meant made took gave saw"
        " felt thought brought kept spoke chose found lost paid read ran slept woke broke"
    ),
    own=_set("i i'd i'm me my mine we us our you your"),
    endings=_pattern(r"\w{2,20}[^e\W]ed"),
    have=_set("have has i've we've you've"),
    participles=_pattern(r"\w{2,20}[^e\W]ed|said|told|done|been|had|gone|spoken|written|made|bought|eaten|given|taken|seen"),
    modal=_set("should can could would will shall must"),
)
_GERMAN = Language(
    asks=_set(
        "was wer wen wem wessen welche welcher welches welchen welchem wo wohin wann wie worüber worum wovon woran warum hatte"
        " hatten hatt hab habe haben hast alles etwas erinnere fass fasse zusammenfassung liste"
    ),
    past=_set(
        "hatte hatten hattest hattet war waren warst wollte wollten wolltest musste mussten sollte sollten sagte sagten sagtest"
        " meinte fragte erzählte passierte ging kam gab schrieb bat brauchte machte machten"
    ),
    own=_set("ich wir sie du ihr mir uns mich dir ihnen mein meine meinen unser unsere"),
    have=_set("habe haben hab hast hat ist bin sind"),
    participles=_pattern(
        r"(?:\w{0,8}ge\w{2,20}|(?:be|er|ver|ent|zer|emp)\w{3,20})(?:t|en)|\w{2,20}iert|besprochen|los|verabredet|vereinbart"
    ),
    modal=_set("soll kann könnte muss werde werden würde darf"),
)
_FRENCH = Language(
    asks=_set(
        "que quoi qu qu'est qu'ai qu'avons qu'as qu'avais quel quelle quels quelles qui où quand comment pourquoi combien de ai"
        " avons as-tu rappelle résume récapitule liste"
    ),
    past=_set(
        "était étais étaient avait avais avions aviez devais voulais disais faisais m'avais t'avais j'avais c'était faisait"
        " s'est"
    ),
    own=_set("je j'ai j'avais nous tu t'ai t'avais vous moi toi me m'as m'avais on mon ma mes notre nos ai avons avais avions"),
    have=_set("ai as a avons avez ont j'ai t'ai m'as l'ai qu'ai suis est sommes on-a"),
    participles=_pattern(
        r"\w{2,20}(?:ée?s?|[iu]e?s?|is|it|ert)|demande|parle|raconte|achete|mange|dit|fait|vu|eu|mis|pris|lu|passe|discute|note"
    ),
    modal=_set("dois peux puis-je pourrais vais faut"),
)
_SPANISH = Language(
    asks=_set(
        "qué que q cuál cuáles quién quiénes dónde cuándo cómo cuánto cosas algo todo recuérdame resúmeme resume lista apuntes"
    ),
    past=_set(
        "dije dijo dijimos hice hizo hicimos hicisteis fue fui fuimos era eran estaba estábamos estuve tenía teníamos tuve"
        " tuvimos"
        " quería queríamos había debía podía iba íbamos puse quise vine vino pasó paso pedí pedi encargué encargue conté conte"
        " hablé pregunté pregunte comenté compré comi comí vi escribí mandé dejé deje"
    ),
    own=_set("yo me mi mis te tú tu nosotros nos nuestro nuestra hemos he has"),
    endings=_pattern(r"(?!vamos|estamos)\w{2,20}(?:[éíó]|aste|iste|amos|imos|aron|ieron|aba|abas|ábamos|aban)"),
    have=_set("he has ha hemos han"),
    participles=_pattern(r"\w{2,20}(?:ado|ido|icho|echo|isto|esto|ierto|rito)"),
    own_endings=_pattern(
        r"(?!vamos|estamos)\w{2,20}(?:[éí]|aste|iste|amos|imos|ábamos)|dije|hice|tenía|tuve|quería|fui|fuimos|encargue|pedi|conte"
        r"|deje|puse|estuve"
    ),
    modal=_set("debo puedo voy podría"),
)
_ITALIAN = Language(
    asks=_set(
        "che cosa cos'ho cos'è cos'avevo quale quali chi dove quando come perché ricordami riassumi riepiloga tutto lista"
    ),
    past=_set(
        "avevo avevamo avevi aveva era erano ero dovevo dovevamo volevo facevo dicevo stavo c'era cos'era dissi successe"
    ),
    own=_set("io ho hai abbiamo mi ti ci noi tu mio mia miei mie nostro nostra avevo avevamo avevi dovevo volevo t'ho"),
    have=_set("ho hai ha abbiamo avete hanno è sono t'ho cos'ho cos'è"),
    participles=_pattern(r"\w{2,20}(?:[aiu]t[oaie]|ett[oaie]|att[oaie]|itt[oaie]|sto|sta|rso|eso|iso)"),
    modal=_set("devo posso potrei dovrei"),
)
_PORTUGUESE = Language(
    asks=_set("que quê qual quais quem onde quando como lembra lembre resume resuma coisas tudo lista o_que"),
    past=_set(
        "disse dissemos fiz fez fizemos foi fui fomos era eram tinha tinhas tínhamos estava estive queria devia podia aconteceu"
        " pedi pediu escrevi comi"
    ),
    own=_set("eu me meu minha meus minhas nós nos te você tu lhe"),
    endings=_pattern(r"(?!sei|sou|vou|estou|vamos|estamos)\w{2,20}(?:ei|ou|aste|este|amos|emos|imos|ava|avas|ávamos)"),
    own_endings=_pattern(
        r"(?!sei|vamos)\w{2,20}(?:ei|amos|emos|imos|ávamos)|disse|fiz|fui|fomos|tinha|tínhamos|queria|pedi|comi"
    ),
    modal=_set("devo posso poderia"),
)
_DUTCH = Language(
    asks=_set("wat welk welke waar waarover wanneer hoe waarom had heb hadden samenvatting alles lijst herinner"),
    past=_set(
        "had hadden was waren wou wilde wilden moest moesten zei zeiden vroeg vertelde gebeurde ging kwam deed deden kreeg"
        " schreef"
    ),
    own=_set("ik we wij je jij jou u mij me mijn ons onze"),
    have=_set("heb hebben hebt heeft is ben zijn"),
    participles=_pattern(r"(?:\w{0,8}ge\w{2,20}|(?:be|ver|ont|her)\w{3,20})(?:t|d|en)|gedaan|gezien"),
    modal=_set("moet kan zal zou mag"),
)
_POLISH = Language(
    asks=_set(
        "co czego czym jakie jaki jaka jaką które który która kto kogo gdzie kiedy jak czy przypomnij podsumuj wszystko lista"
    ),
    past=_set("było był była byli stało działo mówiło miało"),
    own=_set("ja mnie mi my nam nas ty ci ciebie moje mój moja"),
    endings=_pattern(r"\w{1,20}(?:łem|łam|liśmy|łyśmy|łeś|łaś|liście|lem|lam|lismy|lysmy)"),
    own_endings=_pattern(r"\w{1,20}(?:łem|łam|liśmy|łyśmy|łeś|łaś|lem|lam|lismy|lysmy)"),
    modal=_set("mogę powinienem powinnam muszę"),
)
_RUSSIAN = Language(
    asks=_set("что чего чём чем кто кого какие какой какая какую какое где куда когда как напомни подытожь всё все список"),
    past=_set("был была было были"),
    own=_set("я мы ты вы мне нам меня нас тебя тебе вас вам мой моя моё мои"),
    endings=_pattern(r"(?!если|или|число|дел[ао]$|стол|школа|мысли|сил[аы])[а-яё]{1,20}(?:л|ла|ло|ли)(?:ся|сь)?"),
    modal=_set("могу должен должна нужно надо"),
)
_TURKISH = Language(
    asks=_set("ne neler neyi nerede nereye kim kimi hangi nasıl niye hatırlat özetle neydi"),
    past=_set("oldu vardı neydi olmuştu demişti"),
    own=_set("ben biz bana bize sen sana benim bizim"),
    endings=_pattern(r"(?!artik|artık|adım)\w{2,20}(?:[dt][ıiuü](?:m|k|n|nız|niz|ğım|ğim|ğum|ğüm)?|m[ıiuü][şs]t[ıiuü]m)"),
    own_endings=_pattern(r"(?!artik|artık|adım)\w{2,20}(?:[dt][ıiuü](?:m|k|n|ğım|ğim|ğum|ğüm)|m[ıiuü][şs]t[ıiuü]m)"),
)
_SWEDISH = Language(
    asks=_set("vad vilka vilken vilket vem var när hur sammanfatta påminn allt lista"),
    past=_set(
        "hade var sa sade gjorde pratade berättade skulle ville frågade bad hände gick kom åt köpte skrev behövde diskuterade"
        " nämnde tog fick"
    ),
    own=_set("jag vi du mig oss dig min mitt mina vår vårt"),
    have=_set("har"),
    participles=_pattern(r"\w{2,20}(?:at|it|tt|rt|st|lt)"),
    modal=_set("ska kan bör måste borde"),
)

LANGUAGES: tuple[Language, ...] = (
    *(_ENGLISH, _GERMAN, _FRENCH, _SPANISH, _ITALIAN, _PORTUGUESE, _DUTCH, _POLISH, _RUSSIAN, _TURKISH, _SWEDISH),
)
"""The languages that put spaces between words."""

UNSPACED = Language(asks=frozenset(), past=frozenset(), own=frozenset())
"""Stands for Chinese, Japanese and Korean, whose forms are searched for by patterns and not word by word."""
