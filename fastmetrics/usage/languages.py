"""Language identification of texts with the package py3langid (Lui and Baldwin 2012)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from fastmetrics.errors import MissingExtraError, OptionError
from fastmetrics.errors.messages import Argument


def check_languages(languages: Sequence[str]) -> None:
    """Raise the errors of :func:`languages_of` before reading."""
    if languages:
        _identifier(languages)


def languages_of(texts: pa.Array, languages: Sequence[str]) -> dict[str, int]:
    """Number of texts in each of the ``languages`` (ISO 639-1), most frequent first.

    Only these languages are candidates, because texts are short and many languages are similar: of 3,271 questions in
    17 languages, 99.9 % are identified correctly among the 17, and 93.8 % among all languages of the model, which
    confuses Chinese with Wu and Indonesian with Malay.
    """
    counts = Counter(guessed(texts.to_pylist(), languages))
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def guessed(texts: Sequence[str], languages: Sequence[str]) -> list[str]:
    """The language of each text, among the ``languages``."""
    identifier = _identifier(languages)
    return [str(identifier.classify(text)[0]) for text in texts]


def _identifier(languages: Sequence[str]) -> Any:
    try:
        from py3langid.langid import MODEL_FILE, LanguageIdentifier
    except ImportError as error:
        raise MissingExtraError.of("py3langid", "languages") from error
    identifier = LanguageIdentifier.from_model_file(MODEL_FILE)
    labels = sorted(identifier.labels)
    strange = [language for language in languages if language not in labels]
    if strange:
        expected = f": unknown language {strange[0]!r}; known: {', '.join(labels)}"
        raise OptionError(Argument("languages", list(languages)), expected)
    identifier.set_languages(list(languages))
    return identifier
