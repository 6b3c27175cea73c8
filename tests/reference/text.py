"""The text conventions, one obvious function each."""

import re
import string
import unicodedata

LIGHT_STRIP = ".,!?;:()[]{}\"'`«»“”‘’…"


def words(text: str) -> list[str]:
    """Lower-cased maximal runs of word characters."""
    return re.findall(r"\w+", text.lower())


def ascii_words(text: str) -> list[str]:
    """Lower-case; anything but ASCII letters, digits, underscore and white space becomes a space."""
    return re.sub(r"[^A-Za-z0-9_\s]", " ", text.lower()).split()


def hyphen_words(text: str) -> list[str]:
    """Lower-cased maximal runs of word characters and hyphens."""
    return re.findall(r"[\w-]+", text.lower())


def light(text: str) -> list[str]:
    """Lower-cased white-space tokens with the punctuation at both ends stripped; empty ones dropped."""
    stripped = [token.strip(LIGHT_STRIP) for token in text.lower().split()]
    return [token for token in stripped if token]


def plain(text: str) -> list[str]:
    """Lower-cased white-space tokens after every character of Unicode category P is deleted."""
    characters = [character for character in text.lower() if not unicodedata.category(character).startswith("P")]
    return "".join(characters).split()


def squad_normalize(text: str) -> str:
    """SQuAD's normalisation: lower-case, delete ASCII punctuation, blank the articles, squeeze white space."""
    text_without = "".join(character for character in text.lower() if character not in string.punctuation)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text_without).split())


def squad(text: str) -> list[str]:
    """Tokens of SQuAD's normalised text."""
    return squad_normalize(text).split()


def split(text: str) -> list[str]:
    """Lower-cased white-space tokens."""
    return text.lower().split()


def normalize(text: str) -> str:
    """Lower-case, strip, runs of white space to one space."""
    return re.sub(r"\s+", " ", text.lower().strip())


def sentences(text: str) -> list[str]:
    """Pieces between sentence-ending marks, stripped; empty ones dropped."""
    pieces = [piece.strip() for piece in re.split(r"[.!?。！？…]+", text)]
    return [piece for piece in pieces if piece]


def paragraphs(text: str) -> list[str]:
    """Pieces between blank lines, stripped; empty ones dropped."""
    pieces = [piece.strip() for piece in re.split(r"\n\s*\n", text)]
    return [piece for piece in pieces if piece]


CONVENTIONS = {
    "words": words,
    "ascii_words": ascii_words,
    "hyphen_words": hyphen_words,
    "light": light,
    "plain": plain,
    "squad": squad,
    "split": split,
}
