"""The word lists that metrics read: the reference has its own copies, so that a word added or lost is noticed."""

from importlib import resources

import pytest

from fastmetrics.errors import UnknownNameError
from fastmetrics.text.lexicons import LANGUAGES, lexicon, lexicons
from tests.reference.marks import WORD_LISTS, entries

NAMES = sorted(file.name.removesuffix(".txt") for file in WORD_LISTS.iterdir())


def test_the_reference_has_every_list_and_no_other():
    files = (file.name for file in resources.files("fastmetrics.text.lexicons").iterdir())
    assert sorted(name.removesuffix(".txt") for name in files if name.endswith(".txt")) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_every_list_has_the_words_of_the_reference_and_each_once(name):
    assert list(lexicon(name)) == list(dict.fromkeys(entries(name)))


def test_any_language_is_all_of_them_in_turn():
    assert LANGUAGES == ("en", "ru")
    assert list(lexicons("stop")) == list(dict.fromkeys(entries("stop_en") + entries("stop_ru")))
    assert list(lexicons("stop", "ru")) == entries("stop_ru")


def test_a_file_of_a_folder_takes_the_place_of_one_list_alone(tmp_path):
    (tmp_path / "stop_en.txt").write_text("the  # an article\n\n# nothing else\nthe\n")
    assert lexicon("stop_en", str(tmp_path)) == ("the",)
    assert lexicon("stop_ru", str(tmp_path)) == lexicon("stop_ru")


def test_an_unknown_list_is_refused_with_the_nearest_name():
    with pytest.raises(UnknownNameError, match="stop_en"):
        lexicon("stop_enn")
