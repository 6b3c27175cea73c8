"""The word lists that metrics read: the reference has its own copies, so that a word added or lost is noticed."""

from importlib import resources

import pytest

from fastmetrics.text.lexicons import LANGUAGES, lexicon, lexicons
from tests.reference.marks import WORD_LISTS, entries

NAMES = sorted(file.name.removesuffix(".txt") for file in WORD_LISTS.iterdir())


def test_reference_has_exactly_the_same_lists():
    files = (file.name for file in resources.files("fastmetrics.text.lexicons").iterdir())
    assert sorted(name.removesuffix(".txt") for name in files if name.endswith(".txt")) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_lists_equal_the_reference_without_duplicates(name):
    assert list(lexicon(name)) == list(dict.fromkeys(entries(name)))


def test_language_any_combines_all_languages():
    assert LANGUAGES == ("en", "ru")
    assert list(lexicons("stop")) == list(dict.fromkeys(entries("stop_en") + entries("stop_ru")))
    assert list(lexicons("stop", "ru")) == entries("stop_ru")


def test_folder_file_replaces_a_single_list(tmp_path):
    (tmp_path / "stop_en.txt").write_text("the  # an article\n\n# nothing else\nthe\n")
    assert lexicon("stop_en", str(tmp_path)) == ("the",)
    assert lexicon("stop_ru", str(tmp_path)) == lexicon("stop_ru")
