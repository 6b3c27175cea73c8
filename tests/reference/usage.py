"""What a log says of a knowledge base and its users, in plain Python, row by row."""

import itertools
import math
import re
from collections import Counter


def cited(answer, listed):
    """The distinct ids of a row's list that an answer cites: by name, or else by number from 1."""
    found = set()
    for said in re.findall(r"\[([^\[\]]+)\]", answer or ""):
        said = said.strip(" \t\n\r\v\f\x1c\x1d\x1e\x1f\x85\xa0")
        if said in map(str, listed):
            found.add(next(one for one in listed if str(one) == said))
        elif re.fullmatch("[0-9]+", said) and 1 <= int(said) <= len(listed):
            found.add(listed[int(said) - 1])
    return found


def chunk_utilization(rows, chunks, k, share=0.8):
    """The figures, and by chunk: retrieved, cited, relevant, mean rank, mean score."""
    by = {one: {"retrieved": 0, "cited": 0, "relevant": 0, "ranks": [], "scores": []} for one in chunks}
    unknown = set()
    for row in rows:
        listed = row["retrieved_ids"]
        if listed is None:
            listed = []
        top = list(dict.fromkeys(listed[:k]))
        for one in top:
            if one not in by:
                unknown.add(one)
                continue
            by[one]["retrieved"] += 1
            by[one]["ranks"].append(listed.index(one) + 1)
            if row["score"] is not None:
                by[one]["scores"].append(row["score"])
        for one in cited(row["answer"], listed):
            if one in by:
                by[one]["cited"] += 1
        for one in set(row["relevant_ids"] or []):
            if one in by:
                by[one]["relevant"] += 1
    counts = [one["retrieved"] for one in by.values()]
    used = [one for one in counts if one]
    once, twice = used.count(1), used.count(2)
    filled, filling = 0, 0
    for one in sorted(used, reverse=True):
        if filled >= share * sum(used):
            break
        filled, filling = filled + one, filling + 1
    pairs = sum(abs(a - b) for a in counts for b in counts)
    return {
        "total_chunks": len(chunks),
        "used_chunks": len(used),
        "unused_chunks": len(chunks) - len(used),
        "utilization_rate": len(used) / len(chunks) if chunks else math.nan,
        "places": sum(used),
        "gini": pairs / (2 * len(counts) * sum(counts)) if used else math.nan,
        "chunks_filling_share": filling,
        "never_cited": sum(one["retrieved"] > 0 and one["cited"] == 0 for one in by.values()),
        "expected_unseen": once * (once - 1) / (2 * (twice + 1)),
        "unknown_chunks": len(unknown),
    }, by


def words(text):
    """The words of three characters or more."""
    return re.findall(r"[\w-]{3,}", text.lower())


def log_odds(answered: Counter, unanswered: Counter):
    """z of the log-odds ratio with the counts of all words as the prior (Monroe and others 2008, equations 15-22)."""
    prior = answered + unanswered
    total = sum(prior.values())
    n = sum(answered.values()), sum(unanswered.values())
    found = {}
    for word, alpha in prior.items():
        delta, variance = 0.0, 0.0
        for sign, counts, size in ((1, answered, n[0]), (-1, unanswered, n[1])):
            own = counts[word] + alpha
            rest = size + total - own
            if rest:
                delta += sign * math.log(own / rest)
            variance += 1 / own
        found[word] = delta / math.sqrt(variance)
    return found


def cosine(one, other):
    """The cosine of two vectors."""
    return sum(a * b for a, b in zip(one, other, strict=True)) / math.hypot(*one) / math.hypot(*other)


def cache_hits(rows, tau, best):
    """For each row (vector, time, rating, answer): the greatest cosine to an earlier stored one, and which."""
    found = []
    for asked in rows:
        near = [
            (cosine(asked["v"], other["v"]), -at)
            for at, other in enumerate(rows)
            if other["rating"] == best and other["time"] < asked["time"]
        ]
        found.append(max(near) if near else None)
    return found


def context_preservation(rows):
    """Mean over sessions of the mean cosine of neighbours with vectors, rows being (session, turn, vector or None)."""
    sessions = {}
    for session, turn, vector in rows:
        sessions.setdefault(session, []).append((turn, vector))
    means = []
    for turns in sessions.values():
        ordered = [vector for _, vector in sorted(turns, key=lambda one: one[0])]
        pairs = [cosine(a, b) for a, b in itertools.pairwise(ordered) if a is not None and b is not None]
        if pairs:
            means.append(sum(pairs) / len(pairs))
    return sum(means) / len(means) if means else math.nan


def typical_words(texts, topics, stop, most=10):
    """The words of each topic by class-based TF-IDF: counts times ln(1 + A / count in all)."""
    counts = {}
    for text, topic in zip(texts, topics, strict=True):
        counts.setdefault(topic, Counter()).update(word for word in words(text) if word not in stop)
    every = sum(counts.values(), Counter())
    mean = sum(every.values()) / len(counts)
    return {
        topic: sorted(own, key=lambda word: (-own[word] * math.log1p(mean / every[word]), word))[:most]
        for topic, own in counts.items()
    }
