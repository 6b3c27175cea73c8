"""Write ``answers.jsonl``, a few hundred answers of a made-up support assistant in six languages, and the answers of
a second one that gives the first sentence of each, ``brief_answers.jsonl``.

Run it from the repository: ``python examples/make_answers.py``.  The same file comes out every time.
"""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from pathlib import Path
from typing import Any

OUT = Path(__file__).with_name("answers.jsonl")
BRIEF = Path(__file__).with_name("brief_answers.jsonl")
ROWS = 300
LANGUAGES = ("en",) * 6 + ("ru",) * 2 + ("de", "es", "zh", "ar")


@dataclass(frozen=True)
class Topic:
    """One thing people ask about: a question, the right answers, the passage that says so, and how it is said."""

    language: str
    question: str
    references: tuple[str, ...]
    passage: str
    says: str
    wrong: str
    chatter: str


# Every "{x}" below stands for one of the values beside it: (right, wrong).
TOPICS = (
    (
        Topic(
            "en",
            "How long do I have to return the {x} kettle?",
            ("You have 30 days to return the {x} kettle.", "30 days"),
            "Returns. The {x} kettle may be sent back within 30 days of delivery, in its box and with the receipt.",
            "You can return the {x} kettle within 30 days of delivery",
            "You can return the {x} kettle within two years",
            "Please keep the box and the receipt",
        ),
        ("Aster", "Birch", "Copper", "Dune", "Ember"),
    ),
    (
        Topic(
            "en",
            "What does the {x} plan cost a month?",
            ("The {x} plan costs $12.50 a month.", "$12.50"),
            "Prices. {x}: $12.50 a month, billed on the first day; cancel at any time before the 25th.",
            "The {x} plan costs $12.50 a month",
            "The {x} plan is free of charge",
            "It is billed on the first day of the month",
        ),
        ("Basic", "Family", "Student", "Studio", "Team"),
    ),
    (
        Topic(
            "en",
            "When does the library in {x} open on Saturdays?",
            ("The {x} library opens at 9:30 am on Saturdays.",),
            "{x} library: Monday to Friday 8 am to 7 pm, Saturday 9:30 am to 2 pm, closed on Sunday.",
            "The library in {x} opens at 9:30 am on Saturdays",
            "The library in {x} stays closed on Saturdays",
            "On weekdays it is open from 8 am to 7 pm",
        ),
        ("Eastfield", "Harborough", "Millbrook", "Northgate", "Stonebridge"),
    ),
    (
        Topic(
            "en",
            "Which cable does the {x} camera need?",
            ("The {x} camera needs a USB-C cable.", "USB-C", "a USB-C cable"),
            "The {x} camera charges over USB-C. A cable of 1.5 m is in the box, e.g. for charging from a computer.",
            "The {x} camera needs a USB-C cable",
            "The {x} camera takes two AA batteries",
            "A cable of 1.5 m is in the box",
        ),
        ("Lumen 3", "Lumen 4", "Pico", "Quill", "Wren"),
    ),
    (
        Topic(
            "ru",
            "Сколько стоит проезд на автобусе {x}?",
            ("Проезд на автобусе {x} стоит 45 рублей.", "45 рублей"),
            "Тарифы. Автобус {x}: 45 рублей за поездку, оплата картой или наличными у водителя.",
            "Проезд на автобусе {x} стоит 45 рублей",
            "Проезд на автобусе {x} бесплатный",
            "Оплатить можно картой или наличными",
        ),
        ("№ 7", "№ 12", "№ 28", "№ 101"),
    ),
    (
        Topic(
            "ru",
            "Когда открылся музей «{x}»?",
            ("Музей «{x}» открылся в 1998 году.", "1998", "в 1998 году"),
            "Музей «{x}» принял первых посетителей 5 мая 1998 г.; вход свободный по средам.",
            "Музей «{x}» открылся 5 мая 1998 года",
            "Музей «{x}» открылся в прошлом веке, до войны",
            "По средам вход свободный",
        ),
        ("Северный ветер", "Старая мельница", "Ёлка", "Дом инженера"),
    ),
    (
        Topic(
            "de",
            "Wie groß ist der Speicher des {x}?",
            ("Der {x} hat 256 GB Speicher.", "256 GB"),
            "Technische Daten {x}: 256 GB Speicher, 8 GB Arbeitsspeicher, Gewicht 1,2 kg.",
            "Der {x} hat 256 GB Speicher",
            "Die Größe hängt von der Straße ab",
            "Er wiegt nur 1,2 kg",
        ),
        ("Falke 5", "Möwe 2", "Spatz XS", "Bussard"),
    ),
    (
        Topic(
            "es",
            "¿A qué hora sale el tren a {x}?",
            ("El tren a {x} sale a las 15:00.", "a las 15:00", "a las tres de la tarde"),
            "Salidas: tren a {x}, 15:00, andén 4. Los billetes se compran hasta diez minutos antes.",
            "El tren a {x} sale a las 15:00 del andén 4",
            "El tren a {x} ya no circula",
            "¡Buen viaje!",
        ),
        ("Logroño", "Cádiz", "Ávila", "Gijón"),
    ),
    (
        Topic(
            "zh",
            "{x}的保修期是多久？",
            ("{x}的保修期是两年。", "两年"),
            "保修说明：{x}自购买之日起保修两年，电池保修一年。",
            "{x}的保修期是两年",
            "{x}没有保修",
            "电池的保修期是一年",
        ),
        ("电饭煲", "吸尘器", "台灯", "耳机"),
    ),
    (
        Topic(
            "ar",
            "ما هو سعر تذكرة {x}؟",
            ("سعر تذكرة {x} هو 20 درهما.", "20 درهما"),
            "الأسعار: تذكرة {x} للكبار 20 درهما، والدخول مجاني للأطفال.",
            "سعر تذكرة {x} هو 20 درهما",
            "لا توجد تذاكر في {x} هذا العام",
            "الدخول مجاني للأطفال",
        ),
        ("المتحف", "الحديقة", "القلعة", "المسرح"),
    ),
)

PHRASES = {
    "en": ("Of course! ", "I'm happy to help. ", "I don't know.", "Sorry, I don't know that.", ". "),
    "ru": ("Конечно! ", "Рад помочь. ", "Я не знаю.", "К сожалению, я не знаю ответа.", ". "),
    "de": ("Gern! ", "Natürlich: ", "Das weiß ich nicht.", "Leider weiß ich das nicht.", ". "),
    "es": ("¡Claro! ", "Con gusto. ", "No lo sé.", "Lo siento, no lo sé.", ". "),
    "zh": ("好的。", "很高兴为您解答。", "我不知道。", "抱歉，我不知道。", "。"),
    "ar": ("بالطبع! ", "يسعدني مساعدتك. ", "لا أعرف.", "عذرا، لا أعرف.", ". "),
}
"""By language: an opening, a polite opening, two ways of not knowing, and the end of a sentence."""


def filled(topic: Topic, value: str) -> Topic:
    """The topic with its "{x}" filled in."""

    def fill(text: str) -> str:
        return text.replace("{x}", value)

    return Topic(
        topic.language,
        fill(topic.question),
        tuple(map(fill, topic.references)),
        fill(topic.passage),
        fill(topic.says),
        fill(topic.wrong),
        fill(topic.chatter),
    )


def answer(chance: random.Random, topic: Topic, cited: int | None) -> str:
    """What the assistant says: mostly right, sometimes wrong, terse, chatty, or at a loss."""
    opening, polite, unknown, regret, end = PHRASES[topic.language]
    mark = f" [{cited}]" if cited else ""
    kind = chance.choices(("right", "terse", "chatty", "wrong", "unknown", "silent"), (40, 12, 22, 14, 10, 2))[0]
    if kind == "terse":
        return topic.references[-1]
    if kind == "silent":
        return ""
    if kind == "unknown":
        said = chance.choice((unknown, regret))
        return said[:-1] + mark + said[-1] if chance.random() < 0.1 else said  # a citation here is a fault to find
    body = (topic.wrong if kind == "wrong" else topic.says) + mark + end.rstrip()
    if kind == "chatty":
        gap = end[len(end.rstrip()) :]
        second = topic.chatter + (mark if chance.random() < 0.7 else "") + end.rstrip()
        return chance.choice((opening, polite)) + body + gap + second
    return body


def row(chance: random.Random, number: int) -> dict[str, Any]:
    """One line of the file."""
    language = chance.choice(LANGUAGES)
    topic, values = chance.choice([(topic, values) for topic, values in TOPICS if topic.language == language])
    value = chance.choice(values)
    others = [filled(*other) for other in ((topic, one) for one in values if one != value)]
    topic = filled(topic, value)
    passages = [topic, *chance.sample(others, 2)]
    chance.shuffle(passages)
    has_contexts = chance.random() < 0.6
    ids = [f"{topic.language}-{chance.randint(100, 999)}" for _ in range(4)]
    right = ids[passages.index(topic)]
    prompt, completion = chance.randint(180, 900), chance.randint(8, 90)
    return {
        "id": f"q{number:04d}",
        "question": topic.question,
        "answer": None
        if chance.random() < 0.015
        else answer(chance, topic, passages.index(topic) + 1 if has_contexts else None),
        "reference": None if chance.random() < 0.02 else list(topic.references),
        "contexts": [passage.passage for passage in passages] if has_contexts else None,
        "retrieved_ids": ids if chance.random() < 0.9 else ids[:3] + ids[:1],
        "relevant_ids": [right] if chance.random() < 0.9 else [right, f"{topic.language}-099"],
        "latency_ms": None if chance.random() < 0.01 else round(chance.lognormvariate(6.2, 0.5), 1),
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
    }


def brief(row: dict[str, Any]) -> dict[str, Any]:
    """The second assistant's row: the answer up to its first full stop."""
    return row if row["answer"] is None else {**row, "answer": row["answer"].split(". ")[0]}


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    """Write rows as JSON lines."""
    path.write_text("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in rows), encoding="utf-8")


def main() -> None:
    """Write the files beside this script."""
    chance = random.Random(2026)
    rows = [row(chance, number) for number in range(1, ROWS + 1)]
    write(OUT, rows)
    write(BRIEF, [brief(one) for one in rows])


if __name__ == "__main__":
    main()
