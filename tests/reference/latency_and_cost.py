"""What a call cost, one row at a time; None where that is not known."""

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


def total_tokens(total: Amount, prompt: Amount, completion: Amount) -> float | None:
    """The total, or else the sum of both parts."""
    if amount(total) is not None:
        return amount(total)
    parts = amount(prompt), amount(completion)
    return None if None in parts else parts[0] + parts[1]
