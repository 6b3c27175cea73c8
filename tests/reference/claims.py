"""Claims, drift and the verdict (S3), in plain Python over strings."""

import itertools
import math
import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from tests.reference.abstention import Refusing
from tests.reference.marks import Word, entries, marks, word_list
from tests.reference.text import words
from tests.reference.values import is_mark, supported, values

STOP = word_list("stop_en", "stop_ru")
DISCOURSE = word_list("discourse")
SILENT = STOP | DISCOURSE
VERBS = word_list("assertive")
HEDGES = word_list("hedges")
PERSONS = word_list("persons")
ANAPHORS = word_list("anaphors")
ABBREVIATIONS = word_list("abbreviations")
APART = word_list("apart")
LISTS = *map(entries, ("contrast", "filler", "abbreviations")), entries("abstain_whole")
COURTESIES, REFUSALS = (Refusing(entries(name), *LISTS) for name in ("courtesy", "abstain"))

SUFFIXES = ("ing", "ied", "ies", "ed", "es", "ly", "s", "e", "y")
ENDINGS = set("аеёиоуыэюяйьмхв")


def stem(word: str) -> str:
    """A word without its ending: one English suffix and a doubled last letter, or up to three Russian letters."""
    if word.isascii() and word.isalpha():
        if len(word) < 4:
            return word
        for suffix in SUFFIXES:
            if word.endswith(suffix) and len(word) - len(suffix) >= 3 and not word.endswith("ss"):
                word = word[: -len(suffix)]
                break
        return word[:-1] if len(word) > 3 and word[-1] == word[-2] else word
    if all("а" <= letter <= "я" or letter == "ё" for letter in word):
        for _ in range(3):
            if len(word) > 4 and word[-1] in ENDINGS:
                word = word[:-1]
    return word


def is_verb(low: str) -> bool:
    """A verb that asserts."""
    return low in VERBS or (len(low) > 4 and low.endswith("ed") and low.isascii())


def is_content(word: Word) -> bool:
    """A word that names something; the number of a list item and a citation name nothing."""
    steers = word.low in STOP or word.low in DISCOURSE or word.low in HEDGES
    return not steers and not (word.digit and is_mark(word))


def is_name(word: Word) -> bool:
    """A word that subjects and objects are made of."""
    return is_content(word) or word.low in PERSONS


def ends_sentence(word: Word) -> bool:
    """Whether a sentence ends after the word."""
    short = len(word.raw.encode("utf-8", "surrogatepass")) == 1 or word.low in ABBREVIATIONS
    ended = word.closes or re.search(r"[!?…。！？\n]", word.after)
    return bool(ended or ("." in word.after and len(word.after) > 1 and not short))


def sentences(tokens: list[Word]) -> Iterator[tuple[int, int]]:
    """Where the sentences of an answer begin and end, those that ask left out."""
    begin = 0
    for k, word in enumerate(tokens):
        if ends_sentence(word):
            if "?" not in word.after and "？" not in word.after:
                yield begin, k + 1
            begin = k + 1


def parted(gap: str) -> bool:
    """Whether a clause ends at the gap."""
    return re.search(r"[,:;()\[\]«»“”\"]", gap) is not None


def verbs_in(tokens: list[Word], of: Refusing) -> set[int]:
    """The verbs in phrases of a list."""
    low = [word.low for word in tokens]
    return {
        k
        for first in range(len(low))
        for stop in range(first + 1, min(first + of.longest, len(low)) + 1)
        if tuple(low[first:stop]) in of.phrases
        for k in range(first, stop)
        if is_verb(low[k])
    }


def groups(tokens: list[Word], begin: int, end: int, hedges: set[int]) -> list[tuple[int, int]]:
    """The verb groups of a sentence: verbs with at most two stop words in between."""
    ranges: list[tuple[int, int]] = []
    for k in range(begin, end):
        if not is_verb(tokens[k].low):
            continue
        if ranges:
            first, last = ranges[-1]
            between = tokens[last:k]
            near = len(between) <= 2 and not any(parted(tokens[i].before) for i in range(last, k + 1))
            near &= not hedges & set(range(last, k))
            if near and all(not is_content(w) and w.low not in PERSONS for w in between):
                ranges[-1] = (first, k + 1)
                continue
        ranges.append((k, k + 1))
    return ranges


class Clause(NamedTuple):
    """What a verb says of its subject, as word positions."""

    subject: list[int]
    has_name: bool
    """Whether the clause itself names the subject."""
    verbs: list[int]
    objects: list[int]
    """Without the subject of the next clause."""
    span: tuple[int, int]
    """All words of the clause, from its own subject or its verbs on."""


def subject_start(tokens: list[Word], first: int, last: int) -> int:
    """Where the last clause in ``first:last`` begins."""
    return max([first, *(k for k in range(first + 1, last) if parted(tokens[k].before))])


def clauses(tokens: list[Word], abstains: bool) -> Iterator[Clause]:
    """The clauses that assert something; an "I don't know" of an answer that abstains does not."""
    subject: list[int] = []
    polite = verbs_in(tokens, COURTESIES) | (verbs_in(tokens, REFUSALS) if abstains else set())
    for begin, end in sentences(tokens):
        hedges = {k for k in range(begin, end) if tokens[k].low in HEDGES or k in polite}
        names = {k for k in range(begin, end) if is_name(tokens[k]) and (k not in polite or tokens[k].low in PERSONS)}
        verbs = groups(tokens, begin, end, hedges)
        if verbs and not any(tokens[k].low in ANAPHORS for k in range(begin, verbs[0][0])):
            subject = []
        before = begin
        for place, (first, last) in enumerate(verbs):
            following = verbs[place + 1][0] if place + 1 < len(verbs) else end
            zone, before = range(before, first), last
            if hedges & set(range(zone.start, last)):
                continue
            behind = set(range(last, verbs[place + 1][0] if place + 1 < len(verbs) else end))
            persons = {k for k in zone if tokens[k].low in PERSONS}
            if hedges & behind and (not zone or (persons and names & set(zone) <= persons)):
                continue
            own = sorted(names & set(range(subject_start(tokens, zone.start, first), first)))
            if own:
                subject = own
            objects = sorted(names & set(range(last, following)))
            cut = subject_start(tokens, last, following) if following < end else following
            early = [k for k in objects if k < cut]
            shared = not early or early == objects
            span = subject_start(tokens, zone.start, first) if own else first, following if shared else cut
            own_objects = objects if shared else early
            yield Clause(subject, bool(own), [*range(first, last)], own_objects, span)


def spoken(tokens: list[Word], verbs: list[int], used: set[int]) -> list[int]:
    """The last of the verbs that names something, if any."""
    some = [k for k in verbs if is_verb(tokens[k].low) and tokens[k].low not in SILENT and k not in used]
    return [k for k in some if not (tokens[k].digit and is_mark(tokens[k]))][-1:]


Claim = tuple[list[int], list[int], tuple[int, int], tuple[int, int]]
"""The words of the subject and of the object, the span of both as the first and the last word, and the words of its
clause."""


def triples(tokens: list[Word], used: set[int], abstains: bool = False) -> list[Claim]:
    """Every clause with a subject and an object as one claim."""
    claims: list[Claim] = []
    for clause in clauses(tokens, abstains):
        objects = [k for k in clause.objects if k not in used]
        if not clause.objects:
            objects = spoken(tokens, clause.verbs, used)
        if objects:
            subject = [k for k in clause.subject if k not in used]
            beside = subject if clause.has_name else []
            shown = [*beside, *clause.verbs, *objects][0], objects[-1]
            claims.append((subject, objects, shown, clause.span))
    return claims


Share = tuple[int, int]
THREE_QUARTERS = (3, 4)


def quorum(words: set[str], window: set[str], share: Share) -> bool:
    """Whether this share of the words is in the window."""
    return share[1] * len(words & window) >= share[0] * len(words)


def triple_holds(
    subject: set[str], objects: set[str], contexts: list[list[str]], window: int, share: Share = THREE_QUARTERS
) -> bool:
    """Whether a share of the subject's words and of the object's stand in one context, no two of them more than
    ``window`` words apart."""
    both = subject | objects
    for context in contexts:
        places = [i for i, word in enumerate(context) if word in both]
        for n, begin in enumerate(places):
            near = {context[i] for i in places[n : n + window + 1] if i - begin <= window}
            if quorum(subject, near, share) and quorum(objects, near, share):
                return True
    return False


def anchors(
    answer: str, contexts: list[str], window: int = 30, share: Share = THREE_QUARTERS
) -> list[tuple[str, int, int, bool]]:
    """Every anchor of the answer: kind, first character, character after the last, whether it is supported."""
    tokens = marks(answer)
    own = values(tokens)
    context_values = [value for context in contexts for value in values(marks(context))]
    anchors_of_answer = []
    used: set[int] = set()
    wrong = []
    for value in own:
        if value[0] != "weak":
            used.update(range(value[3], value[4]))
            span = tokens[value[3]].start, tokens[value[4] - 1].stop
            kind = "number" if value[0] == "code" else value[0]
            anchors_of_answer.append((kind, *span, supported(value, context_values)))
            if not anchors_of_answer[-1][3]:
                wrong.append(value[3])
    stems = [[stem(word) for word in words(context)] for context in contexts]
    for subject, objects, (first, last), (begin, stop) in triples(tokens, used, REFUSALS.abstained(answer) == 1):
        ends, targets = ({stem(tokens[k].low) for k in side} for side in (subject, objects))
        holds = triple_holds(ends, targets, stems, window, share)
        holds &= not any(begin <= k < stop and (k == begin or tokens[k - 1].low not in APART) for k in wrong)
        anchors_of_answer.append(("claim", tokens[first].start, tokens[last].stop, holds))
    return anchors_of_answer


def ngram_overlap(answer: str, contexts: list[str]) -> float:
    """The share of the answer's word pairs that are found in the contexts."""
    pairs = list(itertools.pairwise(words(answer)))
    seen: set[tuple[str, str]] = set()
    for context in contexts:
        seen.update(itertools.pairwise(words(context)))
    return sum(pair in seen for pair in pairs) / len(pairs) if pairs else 1.0


def drift(answer: str, contexts: list[str]) -> float:
    """0.2 if less than a fifth of the answer's word pairs are found in the contexts; 0 if all words are held values or
    stop words beside one."""
    share = ngram_overlap(answer, contexts)
    context_values = [value for context in contexts for value in values(marks(context))]
    held = {k for value in values(marks(answer)) if supported(value, context_values) for k in range(value[3], value[4])}
    tokens = marks(answer)
    silent = {k for k, word in enumerate(tokens) if word.low in SILENT or (word.digit and is_mark(word))}
    bare = len(held | silent) == len(tokens) and (held or not tokens)
    return 0.2 if share < 0.2 and not bare else 0.0


def anchor_count(answer: str, contexts: list[str]) -> float:
    """The number of anchors."""
    return float(len(anchors(answer, contexts, 30, THREE_QUARTERS)))


def unsupported_count(answer: str, contexts: list[str]) -> float:
    """The number of anchors without support."""
    return float(sum(not anchor[3] for anchor in anchors(answer, contexts, 30, THREE_QUARTERS)))


def unsupported_share(answer: str, contexts: list[str], window: int = 30, share: Share = THREE_QUARTERS) -> float:
    """The share of anchors without support."""
    all_anchors = anchors(answer, contexts, window, share)
    return sum(not anchor[3] for anchor in all_anchors) / len(all_anchors) if all_anchors else 0.0


def hallucination(answer: str, contexts: list[str], window: int = 30, share: Share = THREE_QUARTERS) -> float:
    """The share of anchors without support, or the drift."""
    return max(unsupported_share(answer, contexts, window, share), drift(answer, contexts))


def keyword_completeness(question: str, answer: str) -> float:
    """The share of the question's keywords that the answer holds."""
    capitals = {match.lower() for match in re.findall(r"\w+", question) if len(match) == 2 and match.isupper()}
    capitals |= {word.replace("ς", "σ") for word in capitals}  # what follows decides on the form of a sigma
    keywords = {word for word in words(question) if word not in STOP and (len(word) > 2 or word in capitals)}
    return len(keywords & set(words(answer))) / len(keywords) if keywords else 1.0


def relevance(question: str, answer: str) -> float:
    """Mean of the TF-IDF cosine of the pair and the Jaccard index."""
    a, b = (Counter(word for word in words(text) if len(word) > 1) for text in (question, answer))

    def weight(word: str) -> float:
        return 1.0 if word in a and word in b else math.log(3 / 2) + 1

    product = sum(a[word] * b[word] for word in a)
    norm = math.sqrt(sum((n * weight(w)) ** 2 for w, n in a.items()) * sum((n * weight(w)) ** 2 for w, n in b.items()))
    union = set(words(question)) | set(words(answer))
    jaccard = len(set(words(question)) & set(words(answer))) / len(union) if union else 0.0
    return ((product / norm if norm else 0.0) + jaccard) / 2


def verdict(question: str, answer: str, contexts: list[str]) -> float:
    """FAIL, WARN or PASS as 0, 0.5 or 1."""
    if hallucination(answer, contexts) > 0.5 or relevance(question, answer) < 0.1:
        return 0.0
    return 0.5 if keyword_completeness(question, answer) < 0.6 else 1.0
