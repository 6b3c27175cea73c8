"""Prompts and answers put together word by word, from a seed: what counts of sentences must tell apart."""

import random

WORDS = [
    *(4 * ["tower", "bridge", "cats", "tigers", "вода"]),
    *("remarkable", "machine", "machines", "example", "because", "several", "naïveté", "ab", "abc", "ёж", "ежи", "cat"),
    *("it", "they", "it", "ее", "the", "of", "is", "also", "one", "and", "x_1", "кошка", "однако"),
    *("however", "for example", "as a result", "as a", "in conclusion", "overall", "in", "thus", "to sum up"),
    "finally",
    *("explain", "describe", "list", "what", "why", "почему", "объясни"),
]
ENDS = [*(3 * [". "]), "! ", "? ", "?! ", "？", "…", "。", "\n\n", ".\n\n", ". ? ", " ?\n \n", "\n", ", "]


def sentence(chance: random.Random) -> str:
    words = chance.choices(WORDS, k=chance.choice([0, 1, 2, 3, 4, 5, 6, 9]))
    if words and chance.random() < 0.2:
        words += [words[-1]] * chance.choice([1, 2, 3, 4])
    return " ".join(words).capitalize() + chance.choice(ENDS)


def text(chance: random.Random) -> str:
    return "".join(sentence(chance) for _ in range(chance.choice([0, 1, 1, 2, 3, 5, 8])))


def rows(n: int, seed: int) -> list[tuple[str, str]]:
    """Prompts and their answers; some answers are made of the prompt's own words."""
    chance = random.Random(seed)
    sentences = []
    for _ in range(n):
        question, answer = text(chance), text(chance)
        if chance.random() < 0.3:
            answer += " ".join(chance.sample(question.split(), len(question.split()) // 2))
        sentences.append((question, answer))
    return sentences
