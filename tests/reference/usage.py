"""What a log says of a knowledge base and its users, in plain Python, row by row."""

import itertools
import math
import re
from collections import Counter


def cited(answer, listed):
    """The distinct ids of a row's list that an answer cites: by name, or else by number from 1."""
    cited_ids = set()
    for label in re.findall(r"\[([^\[\]]+)\]", answer or ""):
        label = label.strip(" \t\n\r\v\f\x1c\x1d\x1e\x1f\x85\xa0")
        if label in map(str, listed):
            cited_ids.add(next(identifier for identifier in listed if str(identifier) == label))
        elif re.fullmatch("[0-9]+", label) and 1 <= int(label) <= len(listed):
            cited_ids.add(listed[int(label) - 1])
    return cited_ids


def chunk_utilization(rows, chunks, k, share=0.8):
    """The figures, and by chunk: retrieved, cited, relevant, mean rank, mean score."""
    by = {chunk: {"retrieved": 0, "cited": 0, "relevant": 0, "ranks": [], "scores": []} for chunk in chunks}
    unknown = set()
    for row in rows:
        listed = row["retrieved_ids"]
        if listed is None:
            listed = []
        top = list(dict.fromkeys(listed[:k]))
        for chunk in top:
            if chunk not in by:
                unknown.add(chunk)
                continue
            by[chunk]["retrieved"] += 1
            by[chunk]["ranks"].append(listed.index(chunk) + 1)
            if row["score"] is not None:
                by[chunk]["scores"].append(row["score"])
        for chunk in cited(row["answer"], listed):
            if chunk in by:
                by[chunk]["cited"] += 1
        for chunk in set(row["relevant_ids"] or []):
            if chunk in by:
                by[chunk]["relevant"] += 1
    counts = [count["retrieved"] for count in by.values()]
    used = [count for count in counts if count]
    once, twice = used.count(1), used.count(2)
    filled, filling = 0, 0
    for count in sorted(used, reverse=True):
        if filled >= share * sum(used):
            break
        filled, filling = filled + count, filling + 1
    pairs = sum(abs(a - b) for a in counts for b in counts)
    return {
        "total_chunks": len(chunks),
        "used_chunks": len(used),
        "unused_chunks": len(chunks) - len(used),
        "utilization_rate": len(used) / len(chunks) if chunks else math.nan,
        "places": sum(used),
        "gini": pairs / (2 * len(counts) * sum(counts)) if used else math.nan,
        "chunks_filling_share": filling,
        "never_cited": sum(count["retrieved"] > 0 and count["cited"] == 0 for count in by.values()),
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
    z_of_word = {}
    for word, alpha in prior.items():
        delta, variance = 0.0, 0.0
        for sign, counts, size in ((1, answered, n[0]), (-1, unanswered, n[1])):
            own = counts[word] + alpha
            remaining = size + total - own
            if remaining:
                delta += sign * math.log(own / remaining)
            variance += 1 / own
        z_of_word[word] = delta / math.sqrt(variance)
    return z_of_word


def cosine(first, second):
    """The cosine of two vectors."""
    return sum(a * b for a, b in zip(first, second, strict=True)) / math.hypot(*first) / math.hypot(*second)


def cache_hits(rows, tau, best):
    """For each row (vector, time, rating, answer): the greatest cosine to an earlier stored one, and which."""
    hits = []
    for question in rows:
        near = [
            (cosine(question["v"], other["v"]), -at)
            for at, other in enumerate(rows)
            if other["rating"] == best and other["time"] < question["time"]
        ]
        hits.append(max(near) if near else None)
    return hits


def context_preservation(rows):
    """Mean over sessions of the mean cosine of neighbours with vectors, rows being (session, turn, vector or None)."""
    sessions = {}
    for session, turn, vector in rows:
        sessions.setdefault(session, []).append((turn, vector))
    means = []
    for turns in sessions.values():
        ordered = [vector for _, vector in sorted(turns, key=lambda pair: pair[0])]
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
