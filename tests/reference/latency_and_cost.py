"""What a call cost, one row at a time; None where that is not known."""

import math

Amount = float | list[float | None] | None


def amount(value: Amount) -> float | None:
    """A number, or the sum of those of all rounds."""
    if not isinstance(value, list):
        return value
    total = 0.0
    for cell in value:
        if cell is None:
            return None
        total += cell
    return total if value else None


def _known(value: Amount) -> float:
    known = amount(value)
    return math.nan if known is None else known


def _tokens(
    prompt: Amount,
    completion: Amount,
    total: Amount = None,
    read: Amount = None,
    written: Amount = None,
    reasoning: Amount = None,
) -> tuple[float, float, float]:
    """Prompt, completion and total of counts whose names say that cached tokens and reasoning are within them."""
    said, answer, whole = map(_known, (prompt, completion, total))
    cached, thought = ((0.0 if part is None else _known(part)) for part in (read, reasoning))
    cached += 0.0 if written is None else _known(written)
    ends = (answer, answer + thought)
    within, beside = (whole in [front + end for end in ends] for front in (said, said + cached))
    front = said + cached * (cached > said or (beside and not within))
    is_apart = front + answer != whole and front + answer + thought == whole
    end = answer + thought * (thought > answer or is_apart)
    if math.isnan(whole) or (front + end != whole and said + answer == whole and not math.isnan(front + end)):
        return front, end, front + end
    return front, end, whole


def prompt_tokens(prompt: Amount, completion: Amount, *others: Amount) -> float | None:
    """The prompt with its cached tokens."""
    return None if amount(prompt) is None else _tokens(prompt, completion, *others)[0]


def completion_tokens(completion: Amount, prompt: Amount, *others: Amount) -> float | None:
    """The completion with its reasoning."""
    return None if amount(completion) is None else _tokens(prompt, completion, *others)[1]


def total_tokens(total: Amount, prompt: Amount, completion: Amount, *others: Amount) -> float | None:
    """The total, or else the sum of both parts."""
    if amount(total) is None and None in (amount(prompt), amount(completion)):
        return None
    return _tokens(prompt, completion, total, *others)[2]
