"""Exceptions of users' functions in messages: their words, without keys, also where they cannot be read."""

from fastmetrics.models.clients import words_of


class UnreadableError(Exception):
    """An exception whose message fails."""

    def __str__(self):
        raise ZeroDivisionError


def test_message_that_fails_is_named():
    assert words_of(UnreadableError()) == "UnreadableError: its message cannot be read, ZeroDivisionError"


def test_keys_of_the_environment_are_masked(monkeypatch):
    monkeypatch.setenv("SOME_API_KEY", "sk-0123456789abcdef")
    words = words_of(ValueError("refused: sk-0123456789abcdef"))
    assert words.startswith("ValueError: refused: ")
    assert "0123456789abcdef" not in words
