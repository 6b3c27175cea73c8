"""Replies and bodies of servers: each has the status, the score and the kind of failure that it should have."""

import json

from fastmetrics.models.calls import completion, refusal_in
from fastmetrics.models.replies import grade_of, read_reply
from tests.models.replies_of_servers import FAILURES, MORE, OBJECTS, THOUGHTS


def found(body):
    """What is read of a body, in the words of the set."""
    failure = completion(body).failure
    if failure is not None:
        kinds = {"fatal": failure.fatal, "limited": failure.limited, "passing": failure.passing}
        return f"{failure.outcome} {next((kind for kind, holds in kinds.items() if holds), 'final')}"
    reading = read_reply(body, lambda fields: grade_of(fields, 1, 5))
    return reading.status if reading.score is None else f"{reading.status} {reading.score:g}"


def test_every_reply_has_its_status_and_its_score():
    every = [*THOUGHTS, *OBJECTS, *FAILURES, *MORE]
    read = [(body if isinstance(body, str) else json.dumps(body), expected) for body, expected in every]
    wrong = [(body, expected, found(body)) for body, expected in read if found(body) != expected]
    assert (wrong, len(read) >= 200) == ([], True)


def test_refused_temperature_says_how_to_send_none():
    words = "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) is supported."
    error = refusal_in(json.dumps({"error": {"message": words, "code": "unsupported_value"}}), 400)
    assert error.reason == f"400: {words}; to send none, use --parameters temperature=null"
    assert error.failure().fatal, "every other call would be refused as well"
    assert refusal_in(json.dumps({"error": {"message": "too long"}}), 400).reason == "400: too long"
    assert refusal_in("temperature of the machine room", 500).reason == "500: temperature of the machine room"
