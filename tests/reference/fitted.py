"""A fitted score's file, evaluated row by row in plain Python: from the file's text alone."""

import math
import tomllib

LN2_HIGH, LN2_LOW = 0.6931471803691238, 1.9082149292705877e-10


def curve(x, knots, heights):
    """Straight lines between the knots, level outside."""
    if x <= knots[0]:
        return heights[0]
    if x >= knots[-1]:
        return heights[-1]
    low = max(place for place, knot in enumerate(knots) if knot <= x)
    share = (x - knots[low]) / (knots[low + 1] - knots[low])
    return heights[low] + share * (heights[low + 1] - heights[low])


def exponential(x):
    """2 to the power of k times the series of the exponential function at the remainder."""
    power = math.floor(x * 1.4426950408889634 + 0.5)
    part = (x - power * LN2_HIGH) - power * LN2_LOW
    total = 1 / math.factorial(13)
    for n in range(12, -1, -1):
        total = total * part + 1 / math.factorial(n)
    return total * 2.0**power


def score(text, row):
    """The score of a row: its features in order, None where missing, NaN where undefined."""
    file = tomllib.loads(text)
    if all(value is None for value in row):
        return None
    total = file["intercept"]
    for feature, value in zip(file["features"], row, strict=True):
        if value is None:
            total += feature["missing"]
        elif math.isnan(value):
            total += feature["undefined"]
        else:
            total += curve(value, feature["knots"], feature["heights"])
    if file["kind"] == "logistic":
        power = exponential(-abs(min(max(total, -700.0), 700.0)))
        total = 1 / (1 + power) if total >= 0 else power / (1 + power)
    low, high = file["bounds"]
    return min(max(total, low), high)
