"""Every retrieval measure in plain Python, from the definitions; slow, and imports nothing from the package.

A query is a ranking of ids, best first, and a dictionary of grades.  Relevant is what has a grade of ``level`` or more.
"""

import math

SMALLEST = 0.00001


def ranked_ids(scores):
    """A run's documents, best first: by score descending, then by the bytes of the id descending."""
    return sorted(scores, key=lambda doc: (scores[doc], str(doc).encode()), reverse=True)


def grades_along(ranking, grades):
    """The grade at each rank, None where there is no judgement or the id stood at a better rank."""
    seen, documents = set(), []
    for doc in ranking:
        documents.append(None if doc in seen else grades.get(doc))
        seen.add(doc)
    return documents


def relevant(grades, level):
    return [grade is not None and grade >= level for grade in grades]


def n_relevant(grades, level):
    return sum(grade >= level for grade in grades.values())


def hits(ranking, grades, k=None, level=1):
    return sum(relevant(grades_along(ranking, grades)[:k], level))


def success(ranking, grades, k=None, level=1):
    return float(hits(ranking, grades, k, level) > 0)


def precision(ranking, grades, k=None, level=1, relative=False):
    depth = len(ranking) if k is None else k
    if relative:
        depth = min(depth, n_relevant(grades, level))
    return hits(ranking, grades, k, level) / depth if depth else 0.0


def recall(ranking, grades, k=None, level=1):
    total = n_relevant(grades, level)
    return hits(ranking, grades, k, level) / total if total else 0.0


def f1(ranking, grades, k=None, level=1):
    p, r = precision(ranking, grades, k, level), recall(ranking, grades, k, level)
    return 2 * p * r / (p + r) if p + r else 0.0


def r_precision(ranking, grades, level=1, share=1.0):
    depth = int(share * n_relevant(grades, level) + 0.9)
    return hits(ranking, grades, depth, level) / depth if depth else 0.0


def reciprocal_rank(ranking, grades, k=None, level=1):
    for rank, is_relevant in enumerate(relevant(grades_along(ranking, grades)[:k], level), 1):
        if is_relevant:
            return 1 / rank
    return 0.0


def average_precision(ranking, grades, k=None, level=1):
    total, n_relevant_so_far = 0.0, 0
    for rank, is_relevant in enumerate(relevant(grades_along(ranking, grades)[:k], level), 1):
        if is_relevant:
            n_relevant_so_far += 1
            total += n_relevant_so_far / rank
    return total / n_relevant(grades, level) if n_relevant_so_far else 0.0


def discounted(gains, k=None):
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains[:k], 1) if gain > 0)


def gain_of(grade, gain="linear"):
    if grade is None or grade <= 0:
        return 0.0
    return 2.0**grade - 1.0 if gain == "exponential" else float(grade)


def dcg(ranking, grades, k=None, gain="linear"):
    return discounted([gain_of(grade, gain) for grade in grades_along(ranking, grades)], k)


def ideal_dcg(ranking, grades, k=None, gain="linear"):
    return discounted(sorted((gain_of(grade, gain) for grade in grades.values()), reverse=True), k)


def ndcg(ranking, grades, k=None, gain="linear"):
    best = ideal_dcg(ranking, grades, k, gain)
    return dcg(ranking, grades, k, gain) / best if best else 0.0


def bpref(ranking, grades, level=1):
    total_relevant = n_relevant(grades, level)
    others = sum(0 <= grade < level for grade in grades.values())
    passed, total = 0, 0.0
    for grade in grades_along(ranking, grades):
        if grade is None or grade < 0:
            continue
        if grade < level:
            passed += 1
        else:
            total += 1.0 - (min(passed, total_relevant) / min(others, total_relevant) if passed else 0.0)
    return total / total_relevant if total_relevant else 0.0


def inferred_ap(ranking, grades, level=1):
    n_hits, passed, unjudged, total = 0, 0, 0, 0.0
    for before, grade in enumerate(grades_along(ranking, grades)):
        if grade is None:
            continue
        if grade < 0:
            unjudged += 1
        elif grade < level:
            passed += 1
        else:
            if before:
                pooled = (n_hits + passed + unjudged) / before
                share = (n_hits + SMALLEST) / (n_hits + passed + 2 * SMALLEST)
                total += 1 / (before + 1) + before / (before + 1) * pooled * share
            else:
                total += 1.0
            n_hits += 1
    total_relevant = n_relevant(grades, level)
    return total / total_relevant if total_relevant else 0.0


def interpolated_precision(ranking, grades, recall, level=1):
    marks = relevant(grades_along(ranking, grades), level)
    needed = math.floor(recall * n_relevant(grades, level) + 0.5)
    after = [sum(marks[:rank]) / rank for rank in range(1, len(marks) + 1) if sum(marks[:rank]) >= needed]
    return max(after, default=0.0)


def judged_share(ranking, grades, k=None):
    top = grades_along(ranking, grades)[:k]
    return sum(grade is not None for grade in top) / len(top) if top else 0.0


def unjudged_share(ranking, grades, k=None):
    top = grades_along(ranking, grades)[:k]
    depth = len(ranking) if k is None else k
    return sum(grade is None or grade < 0 for grade in top) / depth if depth else 0.0


def expected_reciprocal_rank(ranking, grades, k=None, max_grade=4):
    going, total = 1.0, 0.0
    for rank, grade in enumerate(grades_along(ranking, grades)[:k], 1):
        stop = gain_of(None if grade is None else min(grade, max_grade), "exponential") / 2.0**max_grade
        total += going * stop / rank
        going *= 1 - stop
    return total


def rank_biased_precision(ranking, grades, p=None, k=None, level=None):
    if p is None:
        p = 0.9 if level is None else 0.8
    best = max([1.0, *grades.values()])
    total = 0.0
    for rank, grade in enumerate(grades_along(ranking, grades)[:k]):
        if level is None:
            total += p**rank * gain_of(grade) / best
        elif grade is not None and grade >= level:
            total += p**rank
    return (1 - p) * total


def rank_biased_residual(ranking, grades, p=0.9):
    total = sum(p**rank for rank, g in enumerate(grades_along(ranking, grades)) if g is None or g < 0)
    return p ** len(ranking) + (1 - p) * total if total else 0.0


def num_nonrelevant_retrieved(ranking, grades, level=1):
    return sum(grade is not None and 0 <= grade < level for grade in grades_along(ranking, grades))


def set_f(ranking, grades, level=1, beta=1.0):
    p, r = precision(ranking, grades, None, level), recall(ranking, grades, None, level)
    return (beta + 1) * p * r / (r + beta * p) if p + r else 0.0


def utility(ranking, grades, level=1, hit=1.0, junk=-1.0, missed=0.0):
    gains = hits(ranking, grades, None, level)
    return hit * gains + junk * (len(ranking) - gains) + missed * (n_relevant(grades, level) - gains)


def eleven_point_average(ranking, grades, level=1):
    return sum(interpolated_precision(ranking, grades, tenth / 10, level) for tenth in range(11)) / 11


def binary_g(ranking, grades, level=1):
    passed, total = 0, 0.0
    for is_relevant in relevant(grades_along(ranking, grades), level):
        if is_relevant:
            total += 1 / math.log2(2 + passed)
        else:
            passed += 1
    total_relevant = n_relevant(grades, level)
    return total / total_relevant if total_relevant else 0.0


def _ideal(grades):
    return sorted((gain_of(grade) for grade in grades.values()), reverse=True)


def g(ranking, grades):
    ideal = _ideal(grades)
    cost, got, total = 0.0, 0.0, 0.0
    for rank, grade in enumerate(grades_along(ranking, grades)):
        cost += max(ideal[rank], 1.0) if rank < len(ideal) else 1.0
        got += gain_of(grade)
        total += gain_of(grade) / math.log2(2 + cost - got) if gain_of(grade) else 0.0
    return total / sum(ideal) if sum(ideal) else 0.0


def ndcg_relevant(ranking, grades):
    gains = [gain_of(grade) for grade in grades_along(ranking, grades)]
    n_gains = sum(gain > 0 for gain in _ideal(grades))
    ratios = [ndcg_upto(gains, grades, rank) for rank, gain in enumerate(gains, 1) if gain > 0]
    ratios += [discounted(gains) / discounted(_ideal(grades))] * (n_gains - len(ratios)) if n_gains else []
    return sum(ratios) / n_gains if n_gains else 0.0


def ndcg_levels(ranking, grades, level=1):
    gains = [gain_of(grade) for grade in grades_along(ranking, grades)]
    ideal = [gain for gain in _ideal(grades) if gain > 0]
    ends = [rank for rank in range(1, len(ideal) + 1) if rank == len(ideal) or ideal[rank] != ideal[rank - 1]]
    if ideal and len(gains) > len(ideal) + 1:
        ends.append(len(gains))
    return sum(ndcg_upto(gains, grades, rank) for rank in ends) / len(ends) if n_relevant(grades, level) else 0.0


def accuracy(ranking, grades, k=None, level=1):
    marks = relevant(grades_along(ranking, grades)[:k], level)
    pairs = [(i, j) for i, mark in enumerate(marks) if mark for j, other in enumerate(marks) if not other]
    return sum(i < j for i, j in pairs) / len(pairs) if pairs else math.nan


def compatibility(ranking, grades, p=0.95, normalize=True):
    rank = {doc: place for place, doc in reversed(list(enumerate(ranking)))}
    ideal = [doc for doc, grade in grades.items() if grade > 0]
    ideal.sort(key=lambda doc: (-grades[doc], rank.get(doc, len(ranking))))
    depth = max(len(ranking), len(ideal))
    if not ideal:
        return 0.0

    def overlap(first, second):
        return sum(p**d * len({*first[: d + 1]} & {*second[: d + 1]}) / (d + 1) for d in range(depth))

    best = overlap(ideal, ideal) if normalize else sum(p**d for d in range(depth))
    return overlap(ranking, ideal) / best


def ndcg_upto(gains, grades, rank):
    return discounted(gains, rank) / discounted(_ideal(grades), rank)


MEASURES = {
    "ndcg": ndcg,
    "ndcg@1": lambda r, g: ndcg(r, g, 1),
    "ndcg@10": lambda r, g: ndcg(r, g, 10),
    "ndcg_burges@5": lambda r, g: ndcg(r, g, 5, "exponential"),
    "dcg@5": lambda r, g: dcg(r, g, 5),
    "mrr": reciprocal_rank,
    "RR@3": lambda r, g: reciprocal_rank(r, g, 3),
    "MRR(rel=2)": lambda r, g: reciprocal_rank(r, g, None, 2),
    "AP": average_precision,
    "map@5": lambda r, g: average_precision(r, g, 5),
    "AP(rel=2)@4": lambda r, g: average_precision(r, g, 4, 2),
    "P@5": lambda r, g: precision(r, g, 5),
    "set_P": precision,
    "recall@3": lambda r, g: recall(r, g, 3),
    "R": recall,
    "f1@4": lambda r, g: f1(r, g, 4),
    "f1": f1,
    "hit_rate@2": lambda r, g: success(r, g, 2),
    "hits@5": lambda r, g: hits(r, g, 5),
    "Rprec": r_precision,
    "Rprec_mult_0.4": lambda r, g: r_precision(r, g, 1, 0.4),
    "Rprec_mult_1.8": lambda r, g: r_precision(r, g, 1, 1.8),
    "Bpref": bpref,
    "bpref-l2": lambda r, g: bpref(r, g, 2),
    "infAP": inferred_ap,
    "IPrec@0.3": lambda r, g: interpolated_precision(r, g, 0.3),
    "iprec_at_recall_0.00": lambda r, g: interpolated_precision(r, g, 0.0),
    "IPrec(rel=2)@0.6": lambda r, g: interpolated_precision(r, g, 0.6, 2),
    "IPrec@1.0": lambda r, g: interpolated_precision(r, g, 1.0),
    "Judged@3": lambda r, g: judged_share(r, g, 3),
    "unj_5": lambda r, g: unjudged_share(r, g, 5),
    "ERR@20": lambda r, g: expected_reciprocal_rank(r, g, 20),
    "ERR(max_grade=3)@2": lambda r, g: expected_reciprocal_rank(r, g, 2, 3),
    "RBP(p=0.8)": lambda r, g: rank_biased_precision(r, g, 0.8),
    "RBP(p=0.5,rel=2)@3": lambda r, g: rank_biased_precision(r, g, 0.5, 3, 2),
    "RBP(rel=1)": lambda r, g: rank_biased_precision(r, g, None, None, 1),
    "rbp_resid": rank_biased_residual,
    "gm_map": lambda r, g: max(average_precision(r, g), SMALLEST),
    "gm_bpref": lambda r, g: max(bpref(r, g), SMALLEST),
    "NumQ": lambda r, g: 1,
    "num_ret": lambda r, g: len(r),
    "NumRet(rel=2)": lambda r, g: hits(r, g, None, 2),
    "NumRelRet": hits,
    "num_rel": lambda r, g: n_relevant(g, 1),
    "num_nonrel_judged_ret": num_nonrelevant_retrieved,
    "relative_P_5": lambda r, g: precision(r, g, 5, relative=True),
    "set_relative_P": lambda r, g: precision(r, g, relative=True),
    "SetP(relative=True,rel=2)": lambda r, g: precision(r, g, None, 2, relative=True),
    "set_map": lambda r, g: precision(r, g) * recall(r, g),
    "set_F": set_f,
    "SetF(beta=2.5)": lambda r, g: set_f(r, g, beta=2.5),
    "utility": utility,
    "11pt_avg": eleven_point_average,
    "binG": binary_g,
    "G": g,
    "ndcg_rel": ndcg_relevant,
    "Rndcg": ndcg_levels,
    "Accuracy": accuracy,
    "Accuracy(rel=2)@3": lambda r, g: accuracy(r, g, 3, 2),
    "Compat": compatibility,
    "Compat(p=0.4)": lambda r, g: compatibility(r, g, 0.4),
    "Compat(p=0.8,normalize=False)": lambda r, g: compatibility(r, g, 0.8, False),
}
"""Measures by the name the package knows them under, of a ranking and its grades."""
