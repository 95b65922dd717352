"""Finds where sentences end, in every script."""

from __future__ import annotations

import re
from collections.abc import Iterator

# Characters with Unicode's property Sentence_Terminal. These end a sentence only before white space: they also stand in
# numbers, names and addresses. U+037E is the Greek question mark; text in NFC has ";" instead (see _GREEK_QUESTION).
_BEFORE_SPACE = ".!?…‼⁇⁈⁉\u037e"
# These end it wherever they stand; Chinese, Japanese, Burmese and Khmer put no space after them. Of Tibetan, the shad,
# which ends clauses and sentences alike.
ANYWHERE = (
    "。！？｡．﹒﹖﹗।॥۔؟؝؞։።፧፨။។៕៖༎༏།༐༑༔܀܁܂߹᙮᜵᜶᠃᠉᥄᥅᱾᱿⸮⸼꓿꘎꘏꛳꛷꡶꡷꣎꣏꤯꧈꧉꩝꩞꩟꫰꫱꯫"
    "᪨᪩᪪᪫᭚᭛᭞᭟᭽᭾᰻᰼\U00011047\U00011048\U000110be-\U000110c1\U00011141-\U00011143"
)
# Closing quotes and brackets after the end. Before white space these include the quotes that other languages open with
# (German “, «): nothing opens there. Signs of Markdown's emphasis may follow as well.
_CLOSERS = r"\"'”’»›)\]}）］｝」』〉》】〕〗｣＂＇"
_CLOSERS_BEFORE_SPACE = rf"{_CLOSERS}“‘«‹*_`"
# French sets a space before the closing quote.
_SPACED_QUOTE = r"(?:[ \u00a0\u202f\u2009]»(?=\s|$))?"
_GREEK_QUESTION = r"(?<=[\u0370-\u03ff\u1f00-\u1fff]);(?=\s)"
# Thai and Lao mark no end but leave a space between sentences; also in a name or before a number, so long runs count.
_LONG_RUN = 10
THAI = "\u0e01-\u0e45\u0e47-\u0e4e\u0e81-\u0ec5\u0ec8-\u0ecf"
_THAI_END = rf"(?<=[{THAI}]{{{_LONG_RUN}}})[ \u00a0]+(?=[{THAI}]{{{_LONG_RUN}}})"
# A line break ends a sentence too: readers join wrapped lines, so it separates items or rows. A run of punctuation is
# tried only from its start, so that matching takes linear time.
END = re.compile(
    rf"(?:(?<![{_BEFORE_SPACE}])[{_BEFORE_SPACE}]++[{_CLOSERS_BEFORE_SPACE}]*+{_SPACED_QUOTE}(?=\s)"
    rf"|{_GREEK_QUESTION}"
    rf"|[{ANYWHERE}](?!(?<=[．۔])\d)[{ANYWHERE}{_BEFORE_SPACE}]*+[{_CLOSERS}]*+)[^\S\n]*\n?"
    rf"|{_THAI_END}|\n"
)
TERMINATORS = f"{_BEFORE_SPACE}{ANYWHERE}"
CLOSERS = _CLOSERS_BEFORE_SPACE

# A full stop after one of these belongs to the word, whatever follows.
_TITLES_AND_SHORT_WORDS = (
    # English
    "e.g i.e vs cf al approx Mr Mrs Ms Dr Prof St Jr Sr Messrs Rev Gen Lt Col Capt Inc Ltd Co Corp U.S U.K a.m p.m ed "
    "eds "
    # German
    "bzw ca vgl evtl ggf ggfs inkl exkl zzgl bspw sog geb gest Hrsg Dipl Ing Hr Fr Frl Tel Fa Mio Mrd allg insb jew "
    "abzgl einschl zB dh "
    # French
    "Mme Mlle MM Mgr Ste env av apr éd boul "
    # Spanish and Portuguese
    "Sra Srta Sres Srs Dra Doña Ud Uds Vd Vds ej aprox Avda Gral Lic Profa Exmo Exma pto dpto "
    # Italian
    "sig sigg sig.ra dott dott.ssa avv prof "
    # Dutch
    "dhr mevr mw drs ir bijv bv blz resp incl excl "
    # Polish, Czech, Turkish
    "np tzn tzw ul hab inż mgr św ks prof godz dr např tzv bkz örn Doç Yrd Sn Cad Mah Sok Apt "
    # Russian and Ukrainian
    "т.е т.к т.н напр др-р см ср проф акад им ул просп тыс млн млрд руб коп тел обл"
).split()
# After one of these it does before a number only: the word is also one of the language, or ends sentences.
_BEFORE_NUMBERS = (
    "No Nos Fig Figs Eq Eqs Sec Ch Vol pp Nr Art Abs Abb Tab Kap Bd Bde Str Aufl Min Std Sek Jan Feb Mar Apr Jun Jul "
    "Aug Sep Sept Oct Okt Nov Dec Dez n.º núm Núm nº pág págs Pág pag pagg art cap vol fig tab chap nr Nr str poz "
    "rozdz стр рис табл гл разд п пп № max min tel Tel cca ok"
).split()
# These stand at the end of a list: a capital letter after them begins a sentence.
_END_LISTS = "etc usw ecc enz itd itp atd vb т.д т.п др пр".split()
# Nouns and prepositions of which the first letter alone follows a number: "1999 г.", "XIX в."
_YEAR = re.compile(r"(?:\d|[IVX])\s?(?:г|гг|в|вв|р|рр|r|w|yy)\.$")


def _forms(words: list[str]) -> frozenset[str]:
    return frozenset((*words, *(word[0].upper() + word[1:] for word in words)))


# Sets, not patterns: compiling these words would add 10 ms to a cold start.
_ABBREVIATIONS = _forms(_TITLES_AND_SHORT_WORDS)
_ABBREVIATIONS_BEFORE_NUMBERS = _forms(_BEFORE_NUMBERS)
_LIST_ENDS = _forms(_END_LISTS)
_OPENERS = "([{\"'„“”‘«»‹›¿¡*_`"
_ORDINAL = re.compile(r"(?:^|(?P<word>[^\W\d_]+\.?)\s|\s)\d{1,2}\.$")
# Ordinals have a full stop in German, the Nordic languages, Czech, Polish, Hungarian, Turkish and others. They follow
# one of these words, or one of the nouns below follows them.
_BEFORE_ORDINALS = frozenset(
    "am vom zum zur im beim bis ab seit der die das dem den des der jeder jedes jede den det en et dne od do az a bir "
    "ein eine einen einem einer".split()
)
_AFTER_ORDINALS = re.compile(
    r"(?:Jan|Feb|M[äa]r|Apr|Ma[iijy]|Jun|Jul|Aug|Sep|O[kc]t|Nov|De[zcs]|Jänner|Ocak|Şubat|Mart|Nisan|Mayıs|Haziran|"
    r"Temmuz|Ağustos|Eyl[üu]l|Ekim|Kas[ıi]m|Aral[ıi]k|Jahrhundert|Jh|Auflage|Kapitel|Klasse|Stock|Stunde|Tag|Woche|Monat|"
    r"Platz|Band|Satz|Absatz|Teil|Semester|Quartal|Weltkrieg|Geburtstag|Etage|OG)\w*"
)
_MAX_ABBREVIATION = 16
_MAX_ITEM_DIGITS = 2


def sentence_slices(text: str, start: int = 0) -> Iterator[str]:
    """Yield the sentences of `text`, each with the white space after it; joined, they equal `text`.

    With `start`, where a sentence must begin, only those from there on.
    """
    for match in END.finditer(text, start):
        end = match.end()
        if not match[0].endswith("\n") and _continues_after(text, start, match):
            continue
        yield text[start:end]
        start = end
    if start < len(text):
        yield text[start:]


def split_sentences(text: str) -> list[str]:
    """The sentences of `text`, without surrounding white space; a line break ends a sentence."""
    return [sentence.strip() for sentence in sentence_slices(text) if sentence.strip()]


def _continues_after(text: str, start: int, match: re.Match[str]) -> bool:
    following = text[match.end() : match.end() + _MAX_ABBREVIATION]
    if following[:1].islower():  # "approx. three", "Yahoo! is"
        return True
    if match[0].rstrip() != ".":
        return False
    before = text[max(start, match.start() - _MAX_ABBREVIATION) : match.start() + 1]
    word = re.split(r"\s", before[:-1])[-1].lstrip(_OPENERS)
    if word in _LIST_ENDS or _YEAR.search(before):
        return not following[:1].isupper()
    if following[:1].isdigit() and word in _ABBREVIATIONS_BEFORE_NUMBERS:
        return True
    is_initial = word[-1:].isalpha() and word[-2:-1] in ("", ".")  # "J. R. R.", "z.B.", "т.е."
    is_item = match.start() - start <= _MAX_ITEM_DIGITS
    return word in _ABBREVIATIONS or is_initial or _is_ordinal(before, following, is_item=is_item)


def _is_ordinal(before: str, following: str, *, is_item: bool) -> bool:
    number = _ORDINAL.search(before)
    if number is None:
        return False
    if is_item or _AFTER_ORDINALS.match(following):  # the number of an item, or a date
        return True
    return (number["word"] or "").lower() in _BEFORE_ORDINALS and following[:1].isupper()
