"""A bot that answers with the first sentence of what a search retrieved, and the questions and chunks to try it on.

python examples/rag_bot.py  # writes questions.jsonl and chunks.jsonl from answers.jsonl
fastmetrics evaluate-rag questions.jsonl chunks.jsonl -o rag --bot examples/rag_bot.py:first_sentence
"""

from __future__ import annotations

import json
from pathlib import Path

ANSWERS = Path(__file__).with_name("answers.jsonl")


def first_sentence(question: str, contexts: list[str]) -> str:
    """The first sentence of the nearest chunk; a real bot would hand the question and the contexts to a model."""
    return contexts[0].split(". ")[0]


def write_rows() -> None:
    """Write the passages of ``answers.jsonl`` as chunks, and the questions that one of them answers."""
    rows = [json.loads(line) for line in ANSWERS.read_text(encoding="utf-8").splitlines()]
    chunks: dict[str, str] = {}
    with open("questions.jsonl", "w", encoding="utf-8") as questions:
        for row in rows:
            passages = dict(zip(row["retrieved_ids"], row["contexts"] or (), strict=False))
            for passage in passages.values():
                chunks.setdefault(passage, f"c{len(chunks) + 1:03d}")
            relevant = [chunks[passages[id]] for id in row["relevant_ids"] if id in passages]
            if relevant:
                kept = {name: row[name] for name in ("id", "question", "reference")}
                print(json.dumps({**kept, "relevant_ids": relevant}, ensure_ascii=False), file=questions)
    with open("chunks.jsonl", "w", encoding="utf-8") as file:
        for text, id in chunks.items():
            print(json.dumps({"id": id, "text": text}, ensure_ascii=False), file=file)


if __name__ == "__main__":
    write_rows()
