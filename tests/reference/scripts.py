"""Which scripts a text is mostly written in, by what Unicode calls its first letters."""

from __future__ import annotations

import unicodedata

LOOK = 32

# First words of the Unicode names of letters in scripts without spaces between words.
UNSPACED = (
    *("THAI", "LAO", "TIBETAN", "MYANMAR", "KHMER", "HIRAGANA", "KATAKANA", "BOPOMOFO", "CJK", "IDEOGRAPHIC"),
    "HALFWIDTH KATAKANA",
)


def beginning(text: str) -> str:
    """The characters that begin within the first bytes."""
    beginning_of_text, size = "", 0
    for character in text:
        if size >= LOOK:
            break
        beginning_of_text += character
        size += len(character.encode("utf-8", "surrogatepass"))
    return beginning_of_text


def kinds(text: str) -> tuple[bool, bool, bool]:
    """Whether most of the letters are not Latin, of scripts without spaces, and neither Latin nor Cyrillic."""
    letters = [
        character for character in beginning(text) if character.isalpha() and not 0x2000 <= ord(character) < 0x2C00
    ]
    names = [unicodedata.name(character, "") for character in letters]
    latin = sum(is_latin(letter, name) for letter, name in zip(letters, names, strict=True))
    cyrillic = sum("CYRILLIC" in name for name in names)
    unspaced = sum(name.startswith(UNSPACED) for name in names)
    foreign, unlisted = len(letters) - latin, len(letters) - latin - cyrillic
    return 2 * foreign > len(letters), 2 * unspaced > len(letters), 2 * unlisted > len(letters)


def is_latin(letter: str, name: str) -> bool:
    """Whether a letter is Latin: ASCII, Latin with marks, or of the phonetic alphabet."""
    return ord(letter) < 0x300 or name.startswith(("LATIN", "MODIFIER LETTER SMALL", "MODIFIER LETTER CAPITAL"))
