"""Answers and contexts put together from parts of sentences, from a seed: what a reader of claims must tell apart."""

import random

SUBJECTS = [
    *("The tower", "the tower", "Eiffel", "Gustave Eiffel", "The old tower of Paris", "Our tower", "Élan", "Zola", "X"),
    *("It", "They", "He", "This", "It and the bridge", "The bridge, and it", "I", "We", "You and Eiffel", "Я"),
    *("Оно", ""),
    *("In 1889, the tower", "In Paris (France) Zola", "Dr. Eiffel", "5 towers", "[2] The tower", "2. The tower", "The"),
    *("Perhaps the tower", "The tower maybe", "The Louvre", "the Louvre", "Башня", "Старая башня", "башня Эйфеля"),
    "Ель",
    *("The tower: Eiffel", "Eiffel; Zola", "well, the glass", "Monday", "$5", "eiffel I", "«Эйфель»", "You"),
    "Yesterday I",
]
VERBS = [
    *("was built", "opened", "is", "was not really built", "was opened and then closed", "opened, was", "has been"),
    *("may open", "might have been seen", "seems built", "was, perhaps, built", "possibly opened", "suggested"),
    "opened may",
    *("is of the at built", "is of built", "is of the built", "is I built", "built we opened"),
    *("opened bridge closed", "is"),
    *("costs", "ed opened", "freed", "reed", "нед", "éed", "opened [3] closed", "была", "вышла", "could be"),
    "is opened is",
    *("", "", "stood", "says it was", "opened and the Zola closed", "was built in", "is and was and is opened"),
    "opened the",
]
OBJECTS = [
    *("by Eiffel", "in Paris", "in 1889", "in 1889 and in 1900", "", "a big bridge", "for the city", "the of"),
    "possibly Paris",
    *("by him", "for me", "which closed the bridge", "that he opened Paris in 1889", "and may close Paris"),
    "$5 million",
    *("on Monday", "near the glass, Paris and Rome", "[1]", "5. 6", "книгу", "в Париже", "by Zola, who died"),
    *("three", "one"),
    *("Paris; it closed Rome", "Paris. Rome", "(in Rome)", "of Paris: Rome", "bridges", "planning plans"),
    *("the towers", "Rome's"),
]
ENDS = [
    *(". ", ". ", ". ", ".\n", "\n", "! ", "? ", "?! ", "… ", ", ", "; ", " ", " vs. ", " J. ", ".", ".) "),
    *("\n2) ", "."),
    "",
]
WORDS = [
    *("tower", "towers", "bridge", "bridges", "Eiffel", "Zola", "Paris", "Rome", "Louvre", "built", "build", "opened"),
    *("open", "closing", "closed", "glass", "city", "big", "old", "stood", "cost", "plan", "planned", "I", "we"),
    *("you", "it", "him", "башня", "башни", "башню", "книга", "книги", "Эйфель", "Париж", "Париже", "1889", "1900"),
    *("Monday", "5", "of", "the", "x"),
]


def sentence(chance: random.Random) -> str:
    parts = [chance.choice(SUBJECTS), chance.choice(VERBS), chance.choice(OBJECTS)]
    if chance.random() < 0.3:
        parts += [chance.choice(VERBS), chance.choice(OBJECTS)]
    return " ".join(part for part in parts if part) + chance.choice(ENDS)


def context(chance: random.Random, answer: str) -> str:
    """Words of the answer and others, some close to each other and some not."""
    words = chance.choices(WORDS + 3 * answer.split(), k=chance.randint(0, 14))
    return " ".join(word + " y" * chance.choice([0, 0, 0, 1, 2, 6]) for word in words)


def rows(n: int, seed: int) -> list[tuple[str, list[str]]]:
    """Answers of one to three sentences, each with one to three contexts."""
    chance = random.Random(seed)
    answers = ["".join(sentence(chance) for _ in range(chance.choice([1, 1, 2, 3]))) for _ in range(n)]
    return [(answer, [context(chance, answer) for _ in range(chance.choice([1, 1, 2, 3]))]) for answer in answers]
