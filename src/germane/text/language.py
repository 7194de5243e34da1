"""Language: detects the language whose stemmer fits a word, by its script or by function words.

Function words decide in Latin script. The result is a guess that serves stemming and nothing else: English wins ties and
texts too short to tell.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import repeat
from types import MappingProxyType

# The function words of each language, which searches ignore; short lists. Words that carry what a question is about
# (last, first, name, like, want) are deliberately left out.


_FUNCTION_WORDS = {
    "english": """a an the this that these those some any each every either neither both such no nor not only own same so than
        too very just also really quite i me my mine myself we us our ours ourselves you your yours yourself yourselves he him
        his himself she her hers herself it its itself they them their theirs themselves one who whom whose which what when
        where why how whatever whenever am is are was were be been being isnt arent wasnt werent do does did doing done dont
        doesnt didnt have has had having havent hasnt hadnt will would shall should can could might must ought cant cannot
        couldnt wont wouldnt shouldnt im ive id ill youre youve youll hes shes were weve theyre theyve thats whats lets
        and or but if because as until while of at by for with about against between into through during before after above
        below to from up down in out on off over under again further then once here there upon onto within without per via
        around across along among toward towards since though although however yet else ever many much please""",
    "german": """der die das den dem des ein eine einer eines einem einen und oder aber denn weil dass wenn als ob wie wo wann
        wer was wen wem wessen warum wieso welche welcher welches welchen ich du er sie es wir ihr mich dich sich uns euch mir
        dir ihm ihn ihnen mein meine meinen meinem meiner dein deine sein seine seinen seiner unser unsere euer ihre ihren
        ihrem ihrer bin bist ist sind seid war waren warst wurde wurden werden wird werde haben habe hast hat hatte hatten
        kann können konnte muss müssen soll sollen will wollen darf nicht kein keine keinen auch noch nur schon sehr so dann
        da dort hier im in an am auf aus bei beim mit nach von vom vor zu zum zur über unter durch für gegen ohne um bis seit
        während zwischen man mal doch ja""",
    "french": """le la les un une des du de d l et ou où mais donc car ni que qui quoi quand comment pourquoi quel quelle quels
        quelles dont je tu il elle on nous vous ils elles me te se lui leur leurs y en moi toi mon ma mes ton ta tes son sa ses
        notre nos votre vos ce cet cette ces ça cela suis es est sommes êtes sont été être était étaient étais sera ai as a
        avons avez ont avait avaient avoir eu fait ne pas plus si très aussi au aux avec sans pour par sur sous dans chez entre
        vers depuis pendant avant après c j m t s n qu""",
    "spanish": """el la los las un una unos unas lo al del de y e o u pero porque que qué quién quien quiénes cuándo cuando
        dónde donde cómo como cuál cual cuáles cuánto cuántos por para con sin sobre entre hasta desde durante en a ante tras
        yo tú él ella ello nosotros vosotros ellos ellas usted ustedes me te se nos os le les mi mis tu tus su sus nuestro
        nuestra este esta esto estos estas ese esa eso esos esas aquel aquella soy eres es somos son era eran fue fueron ser
        sido estoy estás está están estaba estar he has ha hemos han había haber hay no ni sí si muy más ya también""",
    "italian": """il lo la i gli le un uno una l di a da in con su per tra fra del dello della dei degli delle al allo alla ai
        agli alle dal dalla dai nel nello nella nei nelle sul sulla e ed o ma se che chi cui non come dove quando perché quale
        quali quanto quanti cosa io tu lui lei noi voi loro mi ti si ci vi ne mio mia miei mie tuo tua suo sua suoi nostro
        vostro questo questa questi queste quello quella quelli sono sei è siamo siete era erano essere stato stata ho hai ha
        abbiamo hanno aveva avere più molto anche già""",
    "portuguese": """o a os as um uma uns umas de do da dos das em no na nos nas por pelo pela para com sem sobre entre até
        desde ao aos à às e ou mas porque que quem quando onde como qual quais quanto quantos eu tu ele ela nós vós eles elas
        você vocês me te se lhe lhes meu minha meus minhas teu tua seu sua seus suas nosso nossa este esta isto estes estas
        esse essa isso aquele aquela sou és é somos são era eram foi foram ser sido estou está estão estava estar tenho tem têm
        tinha ter há não nem sim muito mais já também""",
    "dutch": """de het een en of maar want omdat dat die dit deze wie wat waar wanneer waarom hoe welke welk ik jij je hij zij
        ze wij we jullie u mij me hem haar hun hen ons onze mijn jouw zijn ben bent is was waren wordt worden werd heb hebt
        heeft hebben had hadden kan kunnen zal zullen zou moet moeten wil mag niet geen ook nog al wel maar zo dan er hier daar
        in op aan van voor met bij naar uit over onder door tegen zonder om tot sinds tussen te als toen""",
    "swedish": """den det en ett de dem och eller men för att som om när var vem vad vilken vilket vilka varför hur jag du han
        hon vi ni mig dig honom henne oss er min mitt mina din ditt dina sin sitt sina hans hennes vår vårt våra är varit vara
        blev blir har hade ha kan kunde ska skulle måste vill inte ingen inget också så då här där i på av till från med utan
        över under efter mellan hos vid än""",
    "danish": """den det en et de dem og eller men for at som om når hvor hvem hvad hvilken hvilket hvilke hvorfor hvordan
        hvornår jeg du han hun vi i mig dig ham hende os jer min mit mine din dit dine sin sit sine hans hendes vores er var
        være været bliver blev har havde have kan kunne skal skulle må vil ikke ingen intet også så da her der på af til fra
        med uden over under efter mellem hos ved end""",
    "norwegian": """den det en et ei de dem og eller men for å at som om når hvor hvem hva hvilken hvilket hvilke hvorfor
        hvordan jeg du han hun vi dere meg deg ham henne oss min mitt mi mine din ditt dine sin sitt sine hans hennes vår er
        var være vært blir ble har hadde ha kan kunne skal skulle må vil ikke ingen intet også så da her der i på av til fra
        med uten over under etter mellom hos ved enn""",
    "finnish": """ja tai mutta että jos kun koska kuin kuka mikä missä milloin miksi miten kuinka mitä ketä minä sinä hän me te
        he se ne tämä tuo nämä minun sinun hänen meidän teidän heidän minua sinua minulla sinulla on ole olen olet olemme ovat
        oli olivat olin ollut olla ei en et emme eivät ollaan myös vain niin nyt siellä täällä sitten jo vielä mukaan""",
    "turkish": """ve veya ama fakat için ile bir bu şu o ben sen biz siz onlar bana sana ona bizim sizin benim senin onun ne
        nasıl nerede neden niçin kim hangi kaç mi mı mu mü da de ki gibi kadar daha çok en var yok değil sonra önce her""",
    "polish": """i oraz lub ale że bo czy jak gdzie kiedy kto co dlaczego który która które jest są był była było były być nie
        tak ja ty on ona ono my wy oni mnie ciebie jego jej ich nas mój moja moje twój w we na do z ze od dla po za przy o u
        się to ten ta te tego tym już też""",
    "romanian": """și sau dar că să dacă când unde cine ce cum care de la în pe cu din pentru fără despre un o unui unei al ale
        eu tu el ea noi voi ei ele mă te se îl îmi este sunt era erau fost fi am ai are avem au nu mai foarte este""",
    "indonesian": """dan atau tetapi karena yang ini itu di ke dari untuk dengan pada oleh dalam saya aku kamu anda dia kami
        kita mereka apa siapa kapan mana dimana mengapa bagaimana adalah ada tidak bukan sudah akan telah sedang juga""",
    "hungarian": """a az egy és vagy de hogy ha mert mint ki mi hol mikor miért hogyan melyik én te ő mi ti ők nekem neked van
        vannak volt voltak lesz nem igen is már még csak ez ezt azt itt ott""",
    "russian": """и или но а что чтобы если когда где куда кто как почему зачем какой какая какие который которая я ты он она
        оно мы вы они меня тебя его её ее нас вас их мне тебе ему ей нам вам им мой моя мое мои твой твоя свой наш ваш этот эта
        это эти тот та те был была было были быть есть не ни да нет в во на с со к ко по из за от до для о об у при без под над
        же ли бы то так уже ещё еще только""",
    "greek": """ο η το οι τα του της των τον την τους τις ένας μια ένα και ή αλλά αν όταν πού που πώς πως ποιος ποια ποιο τι
        γιατί εγώ εσύ αυτός αυτή αυτό εμείς εσείς αυτοί μου σου μας σας να θα δεν μη μην είναι ήταν είμαι έχω έχει με σε από για
        στο στη στην στον ως""",
    "arabic": """في من إلى الى على عن مع هذا هذه ذلك تلك الذي التي الذين هو هي هم نحن أنا انا أنت انت ما ماذا متى أين اين كيف
        لماذا هل كم و أو او ثم لا لم لن قد كان كانت يكون أن ان إن لكن كل بعد قبل""",
    "persian": "و در به از که این آن را با برای است بود هست هستند من تو او ما شما آنها چه کی کجا چرا چگونه یک هم نه تا",
    "hindi": """का के की को में से पर ने और या लेकिन कि जो यह ये वह वे मैं हम तुम आप वो मेरा मेरी मेरे तुम्हारा आपका उसका उनका
        क्या कब कहाँ कौन क्यों कैसे कितना है हैं था थी थे हूँ हो होना नहीं न भी ही तो तक एक गया गई""",
}

STOP: Mapping[str, frozenset[str]] = MappingProxyType(
    {name: frozenset(words.casefold().split()) for name, words in _FUNCTION_WORDS.items()}
)
"""From a language (Snowball's name) to its stop words, casefolded, with accents."""

CONTRACTED = frozenset({"s", "t", "d", "m", "re", "ve", "ll"})
"""Endings after an English apostrophe that aren't terms themselves."""

FUNCTION_CHARACTERS = frozenset("的了是在和与與我你您他她它们們这這那哪吗嗎呢吧啊么麼什就也都很不没沒有个個把被让讓给給")
"""Chinese characters with mostly grammatical function: neither one of them nor a pair of them is a search term."""

_PAIRS = """です ます した して する いる ある こと もの から まで これ それ あれ どれ この その あの どの ここ そこ あそ どこ
    って った てい いま ませ せん まし とい いう には では とは のは のが のを のに ので しょ ょう なに いつ だれ"""

FUNCTION_PAIRS = frozenset(_PAIRS.split())
"""Pairs of hiragana that are inflections or particles."""


LATIN = (
    "english", "german", "french", "spanish", "italian", "portuguese", "dutch", "swedish", "danish", "norwegian",
    "finnish", "turkish", "polish", "romanian", "indonesian", "hungarian",
)  # fmt: skip
"""Languages that are told apart by their function words; earlier ones win ties."""

_SAMPLE = 200  # words counted: no more than a lane of eight bits can count


def _votes() -> dict[str, int]:
    """Returns for each word an integer of sixteen lanes of eight bits, one for each language: one `sum` counts all votes."""
    lanes: dict[str, int] = {}
    for lane, name in enumerate(LATIN):
        for word in STOP[name]:
            lanes[word] = lanes.get(word, 0) | 1 << 8 * lane
    for letters, names in (("ßäöü", ["german"]), ("ñ¿¡", ["spanish"]), ("ãõ", ["portuguese"]), ("çêèœ", ["french"])):
        for letter in letters:
            lanes[letter] = sum(1 << 8 * LATIN.index(name) for name in names)
    return lanes


_VOTES = _votes()
_TELLING_LETTERS = re.compile(r"[ßäöüñ¿¡ãõçêèœ]")
_SCRIPTS = (
    ("russian", re.compile(r"[\u0400-\u052f]")),
    ("greek", re.compile(r"[\u0370-\u03ff\u1f00-\u1fff]")),
    ("persian", re.compile(r"\A[\u0600-\u06ff]*[پچژگکی]")),
    ("arabic", re.compile(r"[\u0600-\u06ff\u0750-\u077f]")),
    ("hindi", re.compile(r"[\u0900-\u097f]")),
    ("tamil", re.compile(r"[\u0b80-\u0bff]")),
    ("armenian", re.compile(r"[\u0530-\u058f]")),
)


def detect(text: str) -> str | None:
    """Returns the Latin-script language of a text, by Snowball's name; None for a text without known function words."""
    text = text[:2000].lower()
    votes = sum(map(_VOTES.get, text.split()[:_SAMPLE], repeat(0)))
    if not text.isascii():
        votes += sum(map(_VOTES.__getitem__, _TELLING_LETTERS.findall(text)[:50]))
    return _winner(votes) if votes else None


def of_script(word: str) -> str | None:
    """Returns the language whose stemmer fits the word's script; "" when there is none, None for Latin script."""
    if word.isascii():
        return None
    for name, pattern in _SCRIPTS:
        if pattern.match(word):
            return name
    return "" if word[0] >= "\u0590" else None


def _winner(votes: int) -> str:
    """Returns the language with most votes, the first of several."""
    counts = votes.to_bytes(len(LATIN), "little")
    return LATIN[counts.index(max(counts))]
