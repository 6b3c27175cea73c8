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


UNSPACED = [
    *[*range(0x0E00, 0x1000), *range(0x1000, 0x10A0), *range(0x1780, 0x1800), *range(0x3005, 0x3008)],
    *[*range(0x3040, 0x3130), *range(0x31A0, 0x3200), *range(0xFF66, 0xFFA0), *range(0x2E80, 0x2FE0)],
    *[*range(0x3400, 0x4DC0), *range(0x4E00, 0xA000), *range(0xF900, 0xFB00), *range(0x20000, 0x323B0)],
]
"""The characters of Thai, Lao, Tibetan, Burmese, Khmer, Japanese and Chinese."""


def unicode_words(text: str) -> list[str]:
    """Words, in scripts without spaces single characters, and signs behind one or two letters; else all symbols."""
    lowered = text.lower()
    found = []
    for word in re.findall(r"\w+|\W", lowered):
        if not re.match(r"\w", word):
            found.append((word, False))
            continue
        piece = ""
        for character in word:
            if ord(character) in UNSPACED:
                found += [(piece, True), (character, True)]
                piece = ""
            else:
                piece += character
        found.append((piece, True))
    found = [(word, is_word) for word, is_word in found if word]
    tokens = []
    for at, (word, is_word) in enumerate(found):
        if is_word:
            tokens.append(word)
        elif at and re.fullmatch("[a-z]{1,2}", found[at - 1][0]) and not (at > 1 and found[at - 2][1]):
            follows = "".join(piece for piece, _ in found[at : at + 3])
            for sign in ("++", "+", "#", "-", "−", "–"):
                if follows.startswith(sign) and not re.match(r"\w", follows[len(sign) :]):
                    tokens.append("-" if sign in "−–" else sign)
                    break
    unseen = [*range(0x200B, 0x2010), *range(0x2060, 0x2065), *range(0xFE00, 0xFE10), 0xFEFF]
    return tokens or [character for character in lowered if not character.isspace() and ord(character) not in unseen]


CONVENTIONS = {
    "words": words,
    "ascii_words": ascii_words,
    "hyphen_words": hyphen_words,
    "light": light,
    "plain": plain,
    "squad": squad,
    "split": split,
}
