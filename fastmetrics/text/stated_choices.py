r"""The choice that a text states: "Therefore B.", "The answer is neither A nor B; it is C.", ``\boxed{B}``, "B) Paris".

A *mention* is a letter that stands alone.  What stands before and after it says what it is: a statement ("the answer is
B", "so B.", "B is correct"), a denial ("not A", "A is wrong"), or neither ("Option A says …").  The last statement
counts.  The patterns are matched by RE2, in time that is linear in the texts, for all mentions of a column together.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from fastmetrics.base.arrays import Bytes, Flags, Ids, Ints, arrow_numbers, arrow_texts, numpy_values
from fastmetrics.kernels.byte_search import gather
from fastmetrics.text.lexicons import lexicon
from fastmetrics.text.tokenize import frozen

NONE, SEVERAL, UNCLEAR, LONE = -1, -2, -3, 32
"""A text that states no choice; one whose last statements differ; one with letters of which we cannot tell; and what is
added to the number of the only letter in a text that states none otherwise: "Going by the map, B."
"""

# Words, in English, German, French, Spanish, Italian, Portuguese, Russian, Turkish, Arabic and Hindi; and below, of the
# languages without spaces, Chinese, Japanese and Korean.

_WORD = r"0-9a-zà-öø-\x{1fff}\x{3040}-\x{30ff}\x{3400}-\x{9fff}\x{ac00}-\x{d7a3}"
"""What ``\\w`` stands for in the patterns below, which see small letters: RE2 reads the classes of Unicode for longer
than it matches a batch by them.
"""


def _words(name: str) -> str:
    return "|".join(lexicon(f"choice_{name}"))


_CUES = _words("cues")
_ENDS = _words("ends")
_SAYS = _words("says")
_LINKS = _words("links")
_NOT = _words("not")
_GAP = r"(?:[^\w.!?;。！？；]|\.\.+)+"
_EDGE = r"(?:^|[^\w])"
_MARKS = r"[ \t\"'“”‘’«»*_`~$(\[{<>\\]"
_ARROWS = r"∴|⇒|→|⟹|=>|->"
_HAN_CUES = "答案|答|选|選|正确|正確|正解|答え|정답|답"
_HAN_ENDS = "所以|因此|因而|故|综上|由此|可知|应该|應該|应|只能|よって|したがって|따라서|그러므로"
_HAN_SAYS = "是|为|為|项|項|は|が|은|는|剩下"
_HAN_LINKS = "[是为為选選项項应應该該就只能最可有我认認觉覺得正确確答案的了应當当而はがのえ은는이가정답으로 ]"
_HAN_NOT = "不是|不选|不選|不为|不為|排除|并非|非|不可能是|不应选"

_STATED = (
    rf"(?:{_EDGE}(?:{_CUES})(?:{_GAP}(?:{_LINKS}))*{_GAP}|\\(?:boxed|fbox)\s*(?:\\?[a-z]*{_MARKS})*"
    rf"|(?:{_HAN_CUES})(?:{_HAN_LINKS}|[^\w.!?;。！？；])*)$"
)
_CONCLUDED = (
    rf"(?:{_EDGE}(?:{_ENDS})(?:{_GAP}(?:{_LINKS}))*{_GAP}|(?:{_ARROWS}){_MARKS}*"
    rf"|(?:{_HAN_ENDS})(?:{_HAN_LINKS}|[^\w.!?;。！？；])*)$"
)
_SAID = rf"(?:{_EDGE}(?:{_SAYS})(?:{_MARKS}|[:,=])+|(?:{_HAN_SAYS}){_MARKS}*)$"
_NO_LINKS = "|".join(
    word for word in _LINKS.split("|") if word not in {"therefore", "thus", "hence", "so", "then", "donc"}
)
_DENIED = (
    rf"(?:(?:{_EDGE}(?:{_NOT})|n['’]t)(?:(?:{_MARKS}|[’:])+(?:{_NO_LINKS}))*(?:{_MARKS}|[:])+"
    rf"|(?:{_HAN_NOT})(?:{_HAN_LINKS}|{_MARKS})*)$"
)
_CAPTION = (
    r"(?:vitamine?a?|витамин[\w]*|plan|type|group|hepatitis|grade|point|section|part|appendix|figure|table|exhibit"
    r"|class|category|level|phase|stage|model|team|player|person|company|variable|schedule|line|gate|план|тип|группа)"
    rf"{_MARKS}+$"
)
_LABELLED = r"(?:^|[^\w])(?:option|answer|choice|solution|вариант|antwort|réponse|respuesta|选项)[ \t*_(\[]*$"

_SPACED = r"0-9a-zà-öø-\x{1fff}"
_IN_WORD = rf"^(?:[{_SPACED}]|['’](?:[0-9a-ce-zà-öø-\x{{1fff}}]|d(?:[^\w]|[a-hj-tv-z]))|-[\w]|[+#]|\.[a-z](?:[^a-z]|$))"
_AFTER_WORD = rf"(?:[{_SPACED}]|[\w]-|(?:^|[^\w])[a-z]\.|[\w]['’])$"
_CLOSE = r"[ \t\"'“”‘’«»*_`~$)\]}>]*"
_BECAUSE = _words("because")
_ENDED = (
    rf"^{_CLOSE}(?:$|[.,;:!?)…。，；：！？、|\n\r&/—–-]|(?:{_BECAUSE})(?:[^\w]|$)|[\x{{3040}}-\x{{d7a3}}]|['’]d[iıuü]r)"
)
_ALONE = r"^(?:$|[^\w\s]|[ \t]*(?:$|[\n\r–—-]|[^\w\s\x00-\x7f]))"
_AT_END = r"^[^\w]*$"
_ON_LINE = r"^[^\w\n]*(?:\n|$)"
_ASKED = r"^[^.!?。！？\n]*[?？]"
_IS = (
    r"(?:(?:is|['’]s|must be|has to be|would be|should be|will be|seems?(?: to be)?|appears?(?: to be)?|looks)"
    r"(?: (?:clearly|definitely|probably|likely|therefore|thus|indeed|also|both|all|the|only|my|our|most))*)"
)
_WORKS = (
    rf"^{_CLOSE}(?:(?:option|answer|choice|alone) )?(?:{_IS} (?:correct|right|true|best|answer|choice|option|solution"
    rf"|valid|accurate|appropriate|likely)|{_words('works')})"
)
_FAILS = rf"^{_CLOSE}(?:(?:option|answer|choice) )?(?:{_words('fails')})"
_RELATED = (
    r"(?:^|[^\w])(?:of|in|than|from|like|about|by|as|under|to|with|for|via|von|als|wie|zu|aus|de|que|dans|avec|en|di"
    r"|in|con|от|чем|из|о|об|к|с)(?: (?:the|der|die|la|el|a))?(?: (?:option|choice|answer|letter|opción|вариант[\w]*))?"
    rf"{_MARKS}+$"
)
_FIRM = (
    rf"^{_CLOSE}(?:$|[.!。！\n]|(?:because|since|as|rather|weil|car|parce|puisque|porque|perché|так|потому)(?:[^\w]|$))"
)
_PLURAL = r"^[^\w]*(?:are|were|both|all|sind|sont|son|são|sono|都|не (?:подход|верн|явля))"
_TELLS = (
    r"^[^\w]*(?:says|states|claims|suggests|refers|describes|mentions|means|talks|involves|implies"
    r"|represents)(?:[^\w]|$)"
)
_AND = _words("and")
_INNER = r"[ \t\"'“”‘’«»*_`~$()\[\]{}<>]"
_JOINED = (
    rf"^{_INNER}*(?:[,/&+、，]{_INNER}*(?:(?:{_AND}) )?|[ \t)\]*_]+(?:{_AND}) |[与和或跟및]|또는)"
    rf"{_INNER}*(?:(?:option|choice|answer|also|even|вариант|la) )?{_INNER}*$"
)
_OR = r"^[^.!?\n]*(?:[^\w](?:or|oder|ou|или|либо)[^\w]|或|还是)[^.!?\n]*$"

# Mentions: letters that stand alone, in the bytes of all texts.


class _Mentions(NamedTuple):
    """Where letters stand alone, the texts that they are in, their numbers, and what is around them."""

    places: Ints
    rows: Ints
    numbers: Ids
    clear: Flags
    """Whether it is no word, as A may be in "Option A dog"."""
    before: pa.Array
    after: pa.Array


_BEFORE, _AFTER = 160, 96
"""Bytes before and behind a mention that are looked at."""


@functools.cache
def _kinds() -> tuple[Flags, NDArray[np.int8], NDArray[np.int8]]:
    """By byte: whether it is an ASCII letter or digit, the number of a letter and that of a digit, -1 for others."""
    alnum, letters, digits = np.zeros(256, np.bool_), np.full(256, -1, np.int8), np.full(256, -1, np.int8)
    letters[65:91] = letters[97:123] = np.arange(26)
    digits[48:58] = np.arange(10)
    alnum[(letters >= 0) | (digits >= 0)] = True
    return alnum, letters, digits


def _mentions(data: Bytes, bounds: Ints, digits: bool) -> _Mentions:
    """The letters or digits of texts that have no word around them; text i is ``data[bounds[i]:bounds[i + 1]]``.

    A small letter, or one that may be a word, is a mention only where its clause ends, or behind a cue.
    """
    alnum, *numbers = _kinds()
    is_word = alnum[data]
    alone = numbers[digits][data] >= 0
    edge = np.zeros(len(data) + 1, np.bool_)
    edge[bounds] = True
    alone[1:] &= ~is_word[:-1] | edge[1:-1]
    alone[:-1] &= ~is_word[1:] | edge[1:-1]
    places = np.flatnonzero(alone)
    rows = np.searchsorted(bounds, places, side="right") - 1
    begins = np.maximum(places - _BEFORE, bounds[rows])
    stops = np.minimum(places + 1 + _AFTER, bounds[rows + 1])
    for _ in range(3):  # no part of a character
        begins += (begins < places) & (data[np.minimum(begins, len(data) - 1)] & 0xC0 == 0x80)
        stops -= (stops < bounds[rows + 1]) & (data[np.minimum(stops, len(data) - 1)] & 0xC0 == 0x80)
    before, after = (pc.utf8_lower(spans(data, *ends)) for ends in ((begins, places), (places + 1, stops)))
    kept = ~(_has(before, _AFTER_WORD) | _has(after, r"^[.,]?[0-9]" if digits else _IN_WORD))
    clear = kept.copy()
    if not digits:
        signs = data[places]
        small, word_like = signs >= 97, np.isin(signs, np.frombuffer(b"AEIOUY", np.uint8))
        unsure = np.flatnonzero(kept & (word_like | small))
        ends, strict = after.take(pa.array(unsure)), small[unsure] | (signs[unsure] == 73)
        behind = _has(ends, _ENDED) | _has(ends, r"^[^ \t\w]") | _has(ends, _WORKS)
        clear[unsure] = np.where(strict, _has(ends, _ALONE), behind)
        named = before.take(pa.array(unsure))
        kept[unsure] = clear[unsure] | (~strict & (_has(named, _LABELLED) | _has(named, _STATED)))
    mask = arrow_numbers(kept, pa.bool_())
    places, rows = places[kept], rows[kept]
    found = numbers[digits][data[places]].astype(np.int32)
    return _Mentions(places, rows, found, clear[kept], before.filter(mask), after.filter(mask))


def spans(data: Bytes, begins: Ints, ends: Ints) -> pa.Array:
    """The bytes of each span as texts."""
    bounds = np.empty(len(begins) + 1, np.int64)
    taken = gather(data, begins, ends, bounds)
    return pa.Array.from_buffers(pa.large_string(), len(begins), [None, pa.py_buffer(bounds), pa.py_buffer(taken)])


def _has(texts: pa.Array, pattern: str) -> Flags:
    """Whether a pattern matches in each text."""
    return numpy_values(pc.match_substring_regex(texts, pattern.replace(r"\w", _WORD)))


# Statements.


def stated_choices(texts: pa.Array, *, digits: bool = False) -> Ids:
    """The letter that each text states, A being 0, or with ``digits`` the digit; NONE, SEVERAL or UNCLEAR.

    >>> answers = pa.array(["So B.", "It can't be A. Therefore C.", "A or B", "Paris", "Option A is old, option B new"])
    >>> stated_choices(answers).tolist()
    [1, 2, -2, -1, -3]
    """
    coded = texts.cast(pa.large_string()).fill_null("").dictionary_encode()
    return _stated(coded.dictionary, digits)[numpy_values(coded.indices)]


def _flat(texts: pa.Array) -> tuple[Bytes, Ints]:
    """The bytes of texts, and the bounds of each."""
    _, offsets, content = texts.buffers()
    bounds = np.frombuffer(offsets, np.int64)[texts.offset : texts.offset + len(texts) + 1]
    return frozen(np.frombuffer(content or b"", np.uint8)[bounds[0] : bounds[-1]]), bounds - bounds[0]


_WIDE = "[Ａ-Ｚａ-ｚ０-９Ⓐ-ⓩ]"
_CYRILLIC = {"А": "A", "Б": "B", "В": "B/C", "Г": "D", "Д": "D/E", "Е": "E/F", "С": "C"}
"""Russian letters of choices, by their shape or their place in the alphabet; where the two differ, either."""


def _in_latin(texts: pa.Array, data: Bytes, bounds: Ints) -> pa.Array:
    """The texts, of these bytes, with wide and Russian letters of choices as Latin ones."""
    two = data[:-1].astype(np.uint16) << 8 | data[1:]
    foreign = (two & 0xFFFE == 0xEFBC) | (two & 0xFFFE == 0xE292)  # wide and circled
    russian = np.isin(two, [int.from_bytes(letter.encode()) for letter in _CYRILLIC])
    follow = np.append(data[2:], np.uint8(0))
    follow[bounds[(bounds >= 2) & (bounds < len(data))] - 2] = 0  # the next text
    places = np.flatnonzero(foreign | (russian & (follow & 0xFE != 0xD0)))
    if not len(places):
        return texts
    mask = np.zeros(len(texts), np.bool_)
    mask[np.searchsorted(bounds, places, side="right") - 1] = True
    some = texts.filter(arrow_numbers(mask, pa.bool_()))
    some = pc.if_else(pc.match_substring_regex(some, _WIDE), pc.utf8_normalize(some, "NFKC"), some)
    edge = "А-яЁё0-9A-Za-z"
    for letter, latin in _CYRILLIC.items():
        alone = rf"(^|[^{edge}]){letter}([^{edge} \t]|[ \t]*(?:$|[^{edge} \t]))"
        some = pc.replace_substring_regex(some, alone, rf"\1{latin}\2")
    return pc.replace_with_mask(texts, arrow_numbers(mask, pa.bool_()), some)


def _stated(texts: pa.Array, digits: bool) -> Ids:
    """What each of some distinct texts states."""
    texts = pc.utf8_rtrim_whitespace(texts)
    data, bounds = _flat(texts)
    if len(data) and data.max() >= 0x80:
        data, bounds = _flat(_in_latin(texts, data, bounds))
    mentions = _mentions(data, bounds, digits)
    newlines = np.flatnonzero(data == 10)
    last = np.searchsorted(newlines, bounds[1:]) - 1
    last_lines = np.where(last >= 0, np.append(newlines, -1)[last], -1)
    return _found(_decided(data, bounds, mentions, last_lines, digits), len(texts), digits)


class _Decided(NamedTuple):
    """What each mention is."""

    rows: Ints
    numbers: Ids
    groups: Ints
    """Mentions joined by "and", "or" or a comma are one group."""
    stated: Flags
    leads: Flags
    """Whether it begins the text, or its last line, as in "B) Paris"."""
    left: Flags
    """Whether it is neither stated nor denied, nor asked for."""
    sure: Flags
    """Whether it is a capital or a digit."""
    bracketed: Flags
    ended: Flags
    final: Flags
    """Whether it may be a statement: no word follows, or words before it begin one; and it is not "of A"."""


def _decided(data: Bytes, bounds: Ints, mentions: _Mentions, last_lines: Ints, digits: bool) -> _Decided:
    """What the mentions are, by what is before and behind them."""
    places, rows, numbers, clear, before, after = mentions
    sure = (data[places] < 97) | digits
    ended, alone = _has(after, _ENDED), _has(after, _ALONE)
    same_row = np.append(False, rows[1:] == rows[:-1])
    between = np.where(same_row, np.append(0, places[:-1] + 1), places)
    near = same_row & (places - between <= _AFTER)
    gaps = pc.utf8_lower(spans(data, np.where(near, between, places), places))
    works, fails = _has(after, _WORKS) & sure, _has(after, _FAILS)
    joined = near & _has(gaps, _JOINED) & (ended | works | fails)
    labelled = _has(before, _LABELLED)
    cued, concluded = _has(before, _STATED), _has(before, _CONCLUDED)
    firm = _has(after, _FIRM)
    enclosed = _has(before, r"\($") & _has(after, r"^\)")
    said = _has(before, _SAID) & (sure | (enclosed & firm)) & (~labelled | firm)  # "It's (b)."
    whole = places - bounds[rows] <= _BEFORE
    first = whole & _has(before, r"^[^\w]*$")
    lead = first | _has(before, r"\n[^\w]*$")
    last_line = (places > last_lines[rows]) & (last_lines[rows] >= bounds[rows])
    related = _has(before, _RELATED)
    own = (cued & clear & ~_has(after, _TELLS) & ~(labelled & _has(after, r"^[ \t*_)\]]*[:：]"))) | works
    own |= (concluded | (said & ~related)) & ended
    own |= lead & last_line & _has(after, _ON_LINE)
    asked = _has(after, _ASKED)
    own &= ~asked
    denied = _has(before, _DENIED)
    groups = np.cumsum(~joined) - 1
    all_fail = np.zeros(len(rows), np.bool_)
    all_fail[groups[fails & _has(after, _PLURAL)]] = True
    heads = np.flatnonzero(~joined)
    denied = denied | fails | ((denied[heads[groups]] & joined) | all_fail[groups]) & ~own
    stated = np.zeros(len(rows), np.bool_)
    stated[groups[own & ~denied]] = True
    stated = stated[groups] & ~denied
    # Two statements of one sentence with "or" between are one.
    again = np.flatnonzero(near & stated & np.append(False, stated[:-1]) & ~joined)
    joined[again] = _has(gaps.take(pa.array(again)), _OR)
    left = ~(stated | denied | asked)
    leads = left & (alone | (firm & sure)) & (first | (lead & last_line))
    captions = _has(before, _CAPTION)
    bracketed = left & sure & enclosed
    return _Decided(
        rows,
        numbers,
        np.cumsum(~joined) - 1,
        stated,
        leads,
        left,
        sure,
        bracketed,
        ended & ~captions,
        (_has(after, _AT_END) & ended | cued | concluded | said) & ~related,
    )


def _found(of: _Decided, n: int, digits: bool) -> Ids:
    """The number that each text states: by its last statement, or where it begins, in brackets, or as its only one."""
    marked, rows = np.zeros(len(of.rows), np.bool_), of.rows
    found = np.full(n, NONE, np.int32)
    if not digits:
        left = of.left & of.sure
        found, usual = _only(of, left, of.numbers, n), np.zeros(n, np.bool_)
        usual[rows[left & of.ended & (of.numbers < _USUAL)]] = True
        together = (found == SEVERAL) & (_only(of, left, of.groups, n) >= 0)  # "A or B"
        found = np.where((found >= 0) & usual, found + LONE, np.where((found == NONE) | together, found, UNCLEAR))
    bracketed = _only(of, of.bracketed, of.numbers, n)
    marked[of.groups[of.leads]] = True
    leading = _only(of, of.left & marked[of.groups], of.numbers, n)
    last = np.full(n, -1)
    last[rows[of.stated]] = of.groups[of.stated]
    stated = _only(of, of.stated & (of.groups == last[rows]), of.numbers, n)
    for better, worst in ((bracketed, 0), (leading, SEVERAL), (stated, SEVERAL)):
        found = np.where((better != NONE) & (better >= worst), better, found)
    # What may be a statement of another letter comes last.
    latest = np.full(n, -1)
    latest[rows[of.stated]] = np.flatnonzero(of.stated)
    ends = np.flatnonzero(of.left & of.sure & of.final & (not digits) & (np.arange(len(rows)) > latest[rows]))
    other = (found[rows[ends]] >= 0) & (found[rows[ends]] % LONE != of.numbers[ends])
    found[rows[ends[other]]] = SEVERAL
    return found.astype(np.int32)


_USUAL = 8
"""A letter that is stated by nothing but its place is one of the first eight: no initial, and no name such as X."""


def _only(of: _Decided, mask: Flags, values: Ints | Ids, n: int) -> Ids:
    """The value of the marked mentions of each text; NONE without any, SEVERAL if they differ."""
    low, high = np.full(n, np.iinfo(np.int64).max), np.full(n, -1)
    np.minimum.at(low, of.rows[mask], values[mask])
    np.maximum.at(high, of.rows[mask], values[mask])
    return np.where(high < 0, NONE, np.where(low == high, high, SEVERAL)).astype(np.int32)


# What a text states by the words of a choice, and what a text consists of.


def denials(texts: pa.Array) -> Flags:
    """Whether each text holds a word that denies something."""
    return _has(pc.utf8_lower(texts), rf"{_EDGE}(?:{_NOT})(?:$|[^\w])|n['’]t|{_HAN_NOT}|不|错")


_STAND_INS = "BCDFGHJKLMNPQRTVWXZ"


def stated_words(texts: Sequence[str], choices: Sequence[Sequence[str]]) -> Ids:
    """The place of the choice that each text states last, where it names choices by their words; for few texts.

    >>> stated_words(["It isn't Rome; it is Paris."], [["Rome", "Paris"]]).tolist()
    [1]
    """
    lettered = []
    for text, named in zip(texts, choices, strict=True):
        places = {" ".join(re.findall(r"\w+", words.lower())): place for place, words in enumerate(named)}
        spelled = sorted((words for words in places if words), key=len, reverse=True)
        pattern = "|".join(r"\W+".join(map(re.escape, words.split())) for words in spelled)

        def letter(match: re.Match[str], places: dict[str, int] = places) -> str:
            place = places[" ".join(re.findall(r"\w+", match[0].lower()))]
            return _STAND_INS[place] if place < len(_STAND_INS) else " "

        lettered.append(re.sub(rf"(?<!\w)(?:{pattern})(?!\w)", letter, text, flags=re.IGNORECASE) if spelled else text)
    found = stated_choices(pa.array(lettered, pa.large_string()))
    letters = np.frombuffer(_STAND_INS.encode(), np.uint8) - 65
    place_of = np.full(26, UNCLEAR, np.int32)
    place_of[letters] = np.arange(len(letters))
    return np.where(found >= 0, place_of[found % LONE % 26], found).astype(np.int32)


_AROUND = "[^0-9A-Za-z_À-ÖØ-öø-\\x{1fff}]*"


def lone_letters(texts: pa.Array) -> Ids:
    """The number of the letter that a text consists of, punctuation and white space aside; NONE for other texts."""
    alone = pc.utf8_upper(pc.struct_field(pc.extract_regex(texts, rf"^{_AROUND}(?P<letter>[A-Za-z]){_AROUND}$"), 0))
    return numpy_values(pc.index_in(alone, _LETTERS), null=NONE).astype(np.int32)


_LETTERS = arrow_texts(chr(65 + place) for place in range(26))


def lone_numbers(texts: pa.Array) -> Ids:
    """The whole number that a text consists of, punctuation and white space aside; NONE for other texts.

    A number with a sign, a decimal or more than six digits is no number of a choice.
    """
    pattern = rf"^(?:{_AROUND}[^0-9A-Za-z_À-ÖØ-öø-\x{{1fff}}\-−‒])?(?P<number>[0-9]{{1,6}}){_AROUND}$"
    alone = pc.struct_field(pc.extract_regex(texts, pattern), 0)
    return numpy_values(alone.cast(pa.int32()), null=NONE).astype(np.int32)
