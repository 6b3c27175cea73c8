"""Statements, and the answers among them that say "I don't know", one text at a time."""

import itertools
import re
from collections.abc import Iterator, Sequence

from tests.reference.text import words

CLOSERS = "\"'”’»›)]}」』）"
MARK = r"\[[0-9][0-9, ]*\]"
TAIL = re.compile(rf"(?:[^\S\n]*[.!?…。！？]|[{re.escape(CLOSERS)}]|[^\S\n]*{MARK})*")
BUT = ("but", "however", "но", "однако")
NEW_LINE = re.compile(r"[^\S\n]*(?:\n|\Z|[-*•] |[0-9]{1,3}[.)] )")
ABOUT = re.compile(
    r"\b(?:contexts?|passages?|documents?|texts?|articles?|sources?|information|snippets?|excerpts?|results?|answers?"
    r"|questions?|knowledge|materials?|documentation|provided|given|mention\w*|instructions?|example|note|hmm+|well|ok|okay|sure|hello|hi|yes|no|let|ai"
    r"|model|assistant|контекст\w*|документ\w*|текст\w*|стать\w*|источник\w*|информаци\w*|материал\w*|базе|данн\w+|ответ\w*|вопрос\w*|да|нет|ну|хм"
    r"|пример|модель)\b"
)
PARTIAL = re.compile(
    r"\b(?:exactly|precisely|for sure|for certain|certain|when|where|who|why|how|which|how (?:many|much|long|old|far)"
    r"|the (?:exact|precise) \w+|точно|наверняка|когда|где|кто|почему|как|сколько)\W*\Z",
    re.IGNORECASE,
)
DOUBTED = re.compile(
    r"^(?!\W*(?:I|We|My|As|Я|Мы)\b(?!\W+(?:think|believe|guess|suppose|assume|думаю|полагаю|считаю)\b))(?P<said>.*)"
    r"\b(?:but|though|although|но|хотя)\W+(?:(?:I|we)\W*(?:am|m|are|re)\W+(?:not\W+(?:\w+\W+){0,2}(?:sure|certain)"
    r"|unsure|uncertain)|(?:(?:я|мы)\W+)?(?:\w+\W+)?не\W+(?:\w+\W+)?уверен[аы]?)\b",
    re.IGNORECASE | re.DOTALL,
)
NEGATED = re.compile(r"\b(?:not?|n['’]t|cannot|nothing|не|нет)\b|n['’]t\b")
OF_WORK = re.compile(
    r"(?:\b(?:not|never)|n['’]t)\s+(?:\w+ly\s+)?(?:mentioned|specified|stated)\s+(?:in|throughout|by|during|at|on|until)\b"
    r"|\bне\s+(?:упомина\w+|указ\w+|назван\w*|сообща\w+|уточня\w+)\s+(?:в|во|на|до|при)\b",
    re.IGNORECASE,
)
OF_WORK = re.compile(
    r"(?:\b(?:not|never)|n['’]t)\s+(?:\w+ly\s+)?(?:mentioned|specified|stated)\s+(?:in|throughout|by|during|at|on|until)\b"
    r"|\bне\s+(?:упомина\w+|указ\w+|назван\w*|сообща\w+|уточня\w+)\s+(?:в|во|на|до|при)\b",
    re.IGNORECASE,
)


def statements(text: str, abbreviations: Sequence[str]) -> list[str]:
    """Sentences with the closing marks and citations after them."""
    pieces, begin, last, i = [], None, 0, 0
    while i < len(text):
        after, ends = i + 1, False
        if text[i] == "\n":
            ends = NEW_LINE.match(text, after) is not None
        elif text[i] in ".!?…。！？":
            tail = TAIL.match(text, after)
            after = after if tail is None else tail.end()
            ends = text[i] in "。！？" or after == len(text) or _ends(text, begin, i, after, abbreviations)
            last = after
        elif not text[i].isspace():
            begin = i if begin is None else begin
            last = after
        if ends and begin is not None:
            pieces.append(text[begin:last])
            begin = None
        i = after
    return pieces if begin is None else [*pieces, text[begin:last]]


def _ends(text: str, begin: int | None, stop: int, after: int, abbreviations: Sequence[str]) -> bool:
    """Whether a full stop, question or exclamation mark within the text ends the sentence that ``begin`` opened."""
    following = text[after:].lstrip()
    small = re.match(r"\w", following) is not None and following[0].islower()
    cited = begin is not None and re.search(r"\[[0-9, ]*[0-9][0-9, ]*\]\Z", text[begin:stop]) is not None
    if not text[after].isspace() or (small and not cited):
        return False
    if text[stop] != "." or begin is None:
        return True
    word = re.findall(r"\w*\Z", text[begin:stop])[0]
    if re.fullmatch("[0-9]{1,9}", word):
        return len(word) < stop - begin
    initial = len(word) == 1 and word.isupper()
    forms = {
        form
        for abbreviation in abbreviations
        for form in (abbreviation, abbreviation.capitalize(), abbreviation.upper())
    }
    return not initial and word not in forms


def opening(sentence: str) -> str:
    """The first word that is no number."""
    return next((word for word in words(sentence) if not word.isdigit()), "")


def names_after_but(sentence: str) -> bool:
    """Whether one to three words after a "but" end the sentence, one of them a name or a number."""
    own = words(sentence)
    places = [k for k in range(max(len(own) - 4, 0), len(own) - 1) if own[k] in BUT]
    if not places:
        return False
    shown = re.sub(MARK, lambda mark: re.sub("[0-9]+", "x", mark.group()), sentence)
    following = re.findall(r"\w+", shown)[places[0] + 1 - len(own) :]
    return any(not word[0].islower() and word != "I" for word in following)


def expand(pattern: str) -> Iterator[tuple[str, ...]]:
    """Every sequence of words that a phrase stands for."""
    pieces = re.findall(r"\([^)]*\)|\[[^\]]*\]|[^()\[\]]+", pattern)
    choices = []
    for piece in pieces:
        inside = piece[1:-1].split("|") if piece[0] in "([" else [piece]
        choices.append([*(words(text) for text in inside), *([[]] if piece[0] == "[" else [])])
    for chosen in itertools.product(*choices):
        yield tuple(itertools.chain(*chosen))


class Refusing:
    """What it takes to tell an "I don't know": phrases, and the lexicons of other words."""

    def __init__(
        self,
        phrases: Sequence[str],
        contrast: Sequence[str],
        filler: Sequence[str],
        abbreviations: Sequence[str],
        whole: Sequence[str] = (),
    ) -> None:
        self.phrases = {sequence for pattern in phrases for sequence in expand(pattern)}
        self.longest = max(map(len, self.phrases), default=0)
        self.contrast = set(contrast)
        self.filler = filler
        self.abbreviations = abbreviations
        self.whole = set(whole)

    def says_idk(self, sentence: str) -> bool:
        """Whether a sentence is an "I don't know": its last phrase is no choice, no answer beside a "but"."""
        words_of_sentence = words(sentence)
        if " ".join(words_of_sentence) in self.whole:
            return True
        if self.tells_more(sentence):
            return False
        matches = [
            (k, k + size)
            for k in range(len(words_of_sentence))
            for size in range(self.longest, 0, -1)
            if tuple(words_of_sentence[k : k + size]) in self.phrases and k + size <= len(words_of_sentence)
        ]
        if not matches:
            return False
        begin = max(k for k, _ in matches)
        end = max(stop for k, stop in matches if k == begin)
        if (begin and words_of_sentence[begin - 1] in ("or", "или")) or opening(sentence) in ("yes", "да"):
            return False
        clauses = [k for k in range(begin) if words_of_sentence[k] in BUT]
        again = any(stop <= clauses[-1] for _, stop in matches) if clauses else False
        if clauses and clauses[-1] > 8 and not self.is_filler(sentence) and not again:
            return False
        buts = [k for k in range(end, len(words_of_sentence)) if words_of_sentence[k] in self.contrast]
        if any(word in BUT for word in words_of_sentence[end:]) and names_after_but(sentence):
            return False
        return not buts or len(words_of_sentence) - buts[0] - 1 < 4

    def tells_more(self, sentence: str) -> bool:
        """Whether a sentence has an answer that it doubts, or tells what a book or film does not mention."""
        if self.is_filler(sentence):
            return False
        work = OF_WORK.search(sentence)
        if work:
            return not ABOUT.search(sentence[work.end() :].lower())
        doubted = DOUBTED.search(sentence)
        if doubted:
            verbs = "is|was|may be|might be|could be|would be"
            before = re.sub(rf"\b(answers? ({verbs})|ответ)\b", "", doubted["said"].lower())
            blank = not re.search(r"\w", doubted["said"])
            return not (blank or ABOUT.search(before) or NEGATED.search(before))
        return False

    def is_filler(self, sentence: str) -> bool:
        """Whether a sentence holds a phrase of those that answer nothing."""
        return any(phrase in " ".join(words(sentence)) for phrase in self.filler)

    def answers(self, sentence: str) -> bool:
        """Whether a sentence, not on the passages or the question, is a statement of another than the speaker."""
        first = re.match(r"\W*(\w+)", sentence)
        ends = re.search(r"[.!…]\W*\Z", sentence)
        speaks = first is not None and first[1] in ("I", "We", "My", "As", "Я", "Мы")
        return bool(first and ends and ends.start() > first.start(1) and not speaks) and not (
            self.is_filler(sentence) or ABOUT.search(" ".join(words(sentence)))
        )

    def abstained(self, answer: str | None) -> float | None:
        """1 if the answer as a whole is an "I don't know"."""
        if answer is None:
            return None
        sentences = statements(answer, self.abbreviations)
        idk = [self.says_idk(sentence) for sentence in sentences]
        if not any(idk):
            return 0.0
        first = idk.index(True)
        preamble = [words(sentence) for sentence in sentences[:first] if not self.is_filler(sentence)]
        openings = [opening(text) for text in sentences[:first] if not self.is_filler(text)]
        before = sum(map(len, preamble)) + 9 * any(text in ("yes", "да") for text in openings)
        before += 9 * any(map(self.answers, sentences[:first]))
        later = [text for text, itself in zip(sentences, idk, strict=True) if not itself]
        later = later[first:]
        open_ = [place for place, text in enumerate(sentences) if idk[place] and PARTIAL.search(text)]
        rest = (
            [text for text, itself in list(zip(sentences, idk, strict=True))[open_[0] :] if not itself] if open_ else []
        )
        answered = any(map(self.answers, rest)) or any(
            (opening(text) in self.contrast and len(words(text)) > 4)
            or (opening(text) in BUT and names_after_but(text) and not text[-1].isalnum())
            for text in later
        )
        return float(before <= 8 and not answered)

    def idk_citations(self, answer: str | None, pattern: str = r"\[\d+\]") -> float | None:
        """Number of "I don't know" sentences that cite."""
        if answer is None:
            return None
        sentences = statements(answer, self.abbreviations)
        return float(
            sum(self.says_idk(sentence) and re.search(pattern, sentence) is not None for sentence in sentences)
        )
