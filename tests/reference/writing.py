"""The writing scores (S4), in plain Python over strings."""

import math
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from tests.reference.marks import entries
from tests.reference.text import ascii_words, paragraphs, words

NAN = math.nan


@dataclass(frozen=True)
class How:
    """The options of the scores."""

    connector_share: float = 0.3
    topic_threshold: float = 0.0
    length_ratio: float = 2.5
    paragraph_words: int = 100
    sophisticated_letters: int = 6
    keyword_share: float = 0.6
    opening_characters: int = 20
    closing_characters: int = 15
    repeats: int = 3
    counted: str = "words"
    tokenizer: str = "words"

    @property
    def words(self) -> Callable[[str], list[str]]:
        """The words of a text."""
        return {"words": words, "ascii_words": ascii_words}[self.tokenizer]


SOURCE = How()


def word_list(name: str, language: str) -> set[str]:
    """The words of a list."""
    tongues = ("en", "ru") if language == "any" else (language,)
    return {word for tongue in tongues for line in entries(f"{name}_{tongue}") for word in line.split()}


def phrase_list(name: str, language: str) -> list[list[str]]:
    """The phrases of a list, with every alternative of ``(a|b)`` written out."""
    tongues = ("en", "ru") if language == "any" else (language,)
    all_phrases = []
    for line in (line for tongue in tongues for line in entries(f"{name}_{tongue}")):
        spelled = [""]
        for piece in re.split(r"(\([^)]*\))", line):
            choices = piece[1:-1].split("|") if piece.startswith("(") else [piece]
            spelled = [head + choice for head in spelled for choice in choices]
        all_phrases += [phrase.split() for phrase in spelled]
    return all_phrases


class Lists:
    """The word lists of a language."""

    def __init__(self, language: str) -> None:
        self.stop = word_list("stop", language)
        self.pronouns = word_list("pronouns", language)
        self.common = word_list("common", language)
        self.tasks = word_list("tasks", language)
        self.questions = word_list("questions", language)
        self.connectors = phrase_list("connectors", language)
        self.summaries = phrase_list("summary", language)

    def content(self, word: str, shortest: int = 3) -> bool:
        """Whether a word names something; in a prompt one of two letters may."""
        return word not in self.stop and word not in self.pronouns and len(word) >= shortest


CHOSEN = {language: Lists(language) for language in ("any", "en", "ru")}


def cut(text: str) -> list[tuple[str, str]]:
    """Sentences with the marks that follow them."""
    pieces = re.split(r"([.!?。！？…]+)", text)
    roles: list[tuple[str, str]] = []
    for place in range(0, len(pieces), 2):
        marks = pieces[place + 1] if place + 1 < len(pieces) else ""
        if pieces[place].strip():
            roles.append((pieces[place].strip(), marks))
        elif roles:
            roles[-1] = (roles[-1][0], roles[-1][1] + marks)
    return roles


def spoken(text: str, how: How = SOURCE) -> list[str]:
    """The words of a text, sentence by sentence, which matters where lower case depends on what follows (Σ)."""
    return [word for sentence, _ in cut(text) for word in how.words(sentence)]


def phrase_at(tokens: list[str], k: int, phrases: list[list[str]]) -> int:
    """The length of the longest phrase that begins at word k."""
    return max([0, *(len(phrase) for phrase in phrases if tokens[k : k + len(phrase)] == phrase)])


def mean(parts: list[float], answer: str, how: How) -> float:
    """The mean of the parts that apply."""
    applying = [part for part in parts if not math.isnan(part)]
    return sum(applying) / len(applying) if how.words(answer) else 0.0


def ties(answer: str, language: str = "any", how: How = SOURCE) -> list[float]:
    """Connector, pronoun and topic scores."""
    lists = CHOSEN[language]
    tokens = [how.words(sentence) for sentence, _ in cut(answer)]
    connectors = pronouns = unclear = shifts = 0
    before: set[str] = set()
    for sentence in tokens:
        names: set[str] = set()
        linked = False
        k = 0
        while k < len(sentence):
            size = phrase_at(sentence, k, lists.connectors)
            if size:
                connectors += 1
                linked |= k == 0
                k += size
                continue
            if sentence[k] in lists.pronouns:
                clear = bool(names or before)
                pronouns, unclear = pronouns + 1, unclear + (not clear)
                linked |= clear and k == 0
            elif lists.content(sentence[k]):
                names.add(sentence[k])
            k += 1
        shifts += not (linked or names & before)
        before = names
    connector = min(connectors / (how.connector_share * len(tokens)), 1.0) if tokens else 0.0
    free = len(tokens) > 0 and shifts / len(tokens) <= how.topic_threshold
    topic = (1.0 if free else 1 - shifts / len(tokens)) if len(tokens) > 1 else NAN
    return [connector, 1 - unclear / pronouns if pronouns else 1.0, topic]


def fulfilment(question: str, answer: str, language: str = "any", how: How = SOURCE) -> list[float]:
    """Coverage, question and task scores."""
    lists = CHOSEN[language]
    spoken_words = set(spoken(answer, how))
    keywords: set[str] = set()
    questions, tasks = [], []
    for sentence, marks in cut(question):
        tokens = how.words(sentence)
        own: list[str] = []
        task: list[str] | None = None
        for token in tokens:
            if token in lists.tasks:
                task = []
                tasks.append(task)
            elif lists.content(token, shortest=2):
                own.append(token)
                if task is not None:
                    task.append(token)
        keywords.update(own)
        if own and ("?" in marks or "？" in marks or tokens[0] in lists.questions):
            questions.append(own)
    tasks = [task for task in tasks if task]

    def share(groups: list[list[str]]) -> float:
        done = [2 * sum(word in spoken_words for word in group) >= len(group) for group in groups]
        return sum(done) / len(done) if done else NAN

    expected = how.length_ratio * len(how.words(question))
    length = min(1.0, len(how.words(answer)) / expected) if expected else 1.0
    matched = len(keywords & spoken_words) / len(keywords) if keywords else 1.0
    return [how.keyword_share * matched + (1 - how.keyword_share) * length, share(questions), share(tasks)]


def length_score(question: str, answer: str, how: How = SOURCE) -> float:
    """How near to 2.5 words per word of the question."""
    n, m = len(how.words(answer)), len(how.words(question))
    return max(0.0, 1 - abs(math.log(n / (how.length_ratio * m)))) if n and m else 0.0


def parts(question: str | None, answer: str, language: str = "any", how: How = SOURCE) -> list[float]:
    """Paragraph, introduction and conclusion scores."""
    lists = CHOSEN[language]
    n = len(how.words(answer))
    paragraph = min(len(paragraphs(answer)) / math.ceil(n / how.paragraph_words), 1.0) if n else 0.0
    sentences = [sentence for sentence, _ in cut(answer)]
    if not sentences:
        return [paragraph, 0.0, 0.0]
    topics = {word for word in spoken(question or "", how) if lists.content(word) and word not in lists.tasks}
    if not topics:
        counts = Counter(word for sentence in sentences for word in how.words(sentence) if lists.content(word))
        topics = {word for word, _ in counts.most_common(5)}
    opens = len(sentences[0]) > how.opening_characters and bool(topics & set(how.words(sentences[0])))
    last = how.words(sentences[-1])
    closes = len(sentences[-1]) > how.closing_characters and any(
        phrase_at(last, k, lists.summaries) for k in range(len(last))
    )
    return [paragraph, float(opens), float(closes)]


def kinds(answer: str, language: str = "any", how: How = SOURCE) -> list[float]:
    """Diversity, sophistication and repetition scores."""
    tokens = spoken(answer, how)
    if not tokens:
        return [NAN, NAN, NAN]
    counts = Counter(tokens)
    sophisticated = [
        token for token in tokens if len(token) > how.sophisticated_letters and token not in CHOSEN[language].common
    ]
    again = [count if how.counted == "tokens" else 1 for count in counts.values() if count > how.repeats]
    return [len(counts) / len(tokens), len(sophisticated) / len(tokens), 1 - sum(again) / len(tokens)]


def coherence(answer: str, language: str = "any", how: How = SOURCE) -> float:
    """Coherence."""
    return mean(ties(answer, language, how), answer, how)


def writing_completeness(question: str, answer: str, language: str = "any", how: How = SOURCE) -> float:
    """Completeness."""
    return mean(fulfilment(question, answer, language, how), answer, how)


def structure(question: str | None, answer: str, language: str = "any", how: How = SOURCE) -> float:
    """Structure."""
    return mean(parts(question, answer, language, how), answer, how)


def vocabulary(answer: str, language: str = "any", how: How = SOURCE) -> float:
    """Vocabulary."""
    return mean(kinds(answer, language, how), answer, how)


def overall_quality(question: str, answer: str, language: str = "any", how: How = SOURCE) -> float:
    """The weighted mean of the five."""
    return (
        0.25 * coherence(answer, language, how)
        + 0.25 * writing_completeness(question, answer, language, how)
        + 0.20 * length_score(question, answer, how)
        + 0.15 * structure(question, answer, language, how)
        + 0.15 * vocabulary(answer, language, how)
    )
