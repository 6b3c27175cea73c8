"""How much the rankings of repeats of a query have in common, in plain Python."""

from itertools import combinations


def jaccard(a, b):
    return len(set(a) & set(b)) / len(set(a) | set(b)) if a or b else 1.0


def rank_biased_overlap(a, b, p=0.9):
    """Extrapolated RBO of two rankings without repeats (Webber, Moffat and Zobel 2010, equation 32)."""
    short, long = sorted((a, b), key=len)
    s, n = len(short), len(long)
    if not s:
        return float(not n)
    x = [len(set(short[:d]) & set(long[:d])) for d in range(n + 1)]
    total = sum(x[d] / d * p**d for d in range(1, n + 1))
    total += sum(x[s] * (d - s) / (s * d) * p**d for d in range(s + 1, n + 1))
    return (1 - p) / p * total + ((x[n] - x[s]) / n + x[s] / s) * p**n


def over_repeats(queries, lists, compare):
    """Mean over queries of the mean over the pairs of their repeats; None if no query is repeated."""
    means = []
    for query in dict.fromkeys(queries):
        repeats = [ids for other, ids in zip(queries, lists, strict=True) if other == query]
        pairs = [compare(a, b) for a, b in combinations(repeats, 2)]
        if pairs:
            means.append(sum(pairs) / len(pairs))
    return sum(means) / len(means) if means else None


def as_the_first(queries, values):
    """The share of repeats that equal the first row of their query; None if no query is repeated."""
    firsts, same = {}, []
    for query, value in zip(queries, values, strict=True):
        if query in firsts:
            same.append(value == firsts[query])
        firsts.setdefault(query, value)
    return sum(same) / len(same) if same else None
