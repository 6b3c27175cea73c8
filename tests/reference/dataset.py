"""What is wrong with the rows of a data set, in plain Python: the rows of each fault."""

import ast
import json
import unicodedata
from collections import Counter, defaultdict

ENDS = ".!?…。！？؟।"
CLOSING = "'\"»”’)]*_"


def plain(text):
    return " ".join((text or "").lower().split())


def texts(cell):
    return [cell] if isinstance(cell, str) else [text for text in cell or () if text is not None]


def is_list(text):
    """Whether a text is a list of texts, as JSON or Python writes it."""
    for parse in (json.loads, ast.literal_eval):
        try:
            items = parse(text)
        except (ValueError, SyntaxError):
            continue
        return isinstance(items, list) and all(isinstance(item, str) for item in items)
    return False


def is_open(text):
    """Whether a text ends within a sentence: with a letter, a mark of one, a digit, a comma, a dash or a bracket."""
    return text[-1:] in tuple(",([{–—-") or unicodedata.category(text[-1:] or " ")[0] in "LMN"


def is_cut_off(answer):
    """Whether an answer of twenty words ends within a sentence, although it ends other sentences with punctuation."""
    text = answer.strip()
    *before, last = [line.strip() for line in text.split("\n") if line.strip()] or [""]
    words = text.split()
    in_a_list = before and before[-1][-1] not in ENDS + ":;" and len(last.split()) < 20
    named = words and ("://" in words[-1] or words[-1].lstrip("(")[0] in "#@")
    ends = any(word.rstrip(CLOSING)[-1:] in tuple(ENDS) for word in words[:-1])
    return len(words) >= 20 and is_open(text) and ends and not in_a_list and not named


def script(text):
    names = [unicodedata.name(character).split()[0] for character in text or "" if character.isalpha()]
    return Counter(names).most_common(1)[0][0] if len(set(names)) == 1 else None


def groups(keys):
    places = defaultdict(list)
    for row, key in enumerate(keys):
        places[key].append(row)
    return [rows for key, rows in places.items() if len(rows) > 1 and key is not None]


def alike(rows):
    return groups(
        None if row["question"] is None else (plain(row["question"]), plain(row.get("answer"))) for row in rows
    )


def faults(rows, labels):
    """The numbers of the rows with each fault."""
    rows_by_fault = {
        "doubled id": [row for some in groups(entry["id"] for entry in rows) for row in some],
        "duplicate": [row for some in alike(rows) for row in some[1:]],
        "contradicting labels": {
            row
            for name in labels
            for some in alike(rows)
            if len({json.dumps(rows[row][name]) for row in some if rows[row][name] is not None}) > 1
            for row in some
        },
    }
    each = defaultdict(list)
    for number, row in enumerate(rows):
        question, answer = plain(row["question"]), plain(row["answer"])
        references, contexts = map(plain, texts(row["reference"])), texts(row["contexts"])
        if any(len(entry.split()) >= 4 and entry in question for entry in references):
            each["reference in question"].append(number)
        if len(answer.split()) >= 4 and answer in map(plain, contexts):
            each["answer is context"].append(number)
        if not any(entry.strip() for entry in contexts):
            each["empty contexts"].append(number)
        if not (row["answer"] or "").strip():
            each["no answer"].append(number)
        if is_cut_off(row["answer"] or ""):
            each["answer cut off"].append(number)
        question_script, answer_script = script(row["question"]), script(row["answer"])
        if question_script and answer_script and question_script != answer_script:
            each["other script"].append(number)
    for column, name in (("reference", "reference is a list"), ("contexts", "contexts are a list")):
        cells = [row[column] for row in rows]
        if not any(isinstance(cell, list) for cell in cells):
            each[name] = [number for number, cell in enumerate(cells) if cell is not None and is_list(cell)]
    names = (
        *("reference is a list", "contexts are a list", "reference in question", "answer is context"),
        *("empty contexts", "no answer", "answer cut off", "other script"),
    )
    return {name: sorted(rows) for name, rows in (rows_by_fault | {name: each[name] for name in names}).items()}
