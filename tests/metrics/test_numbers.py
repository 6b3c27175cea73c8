"""Numbers, dates and yes or no in any form, against the plain definition."""

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import fastmetrics as fm
from fastmetrics.base.limits import SIZES
from tests.reference import numbers
from tests.support import strategies
from tests.support.every_metric import FACTS

PIECES = st.sampled_from(
    [
        *FACTS[:9],
        *("1.5e6", "5e", "+3", "× 10^6", "x 10⁻³", "10⁶", "1 1/2", "and a half", "and", "US$-4", "-US$4", "5-7%", "to"),
        *("hundred", "million", "two", "twenty", "third", "thirds", "сто", "пять", "тысяча", "с половиной", "‰", "a"),
        "2024-01-05T10:30:00Z",
        *("1", "2", "1,000", "1.000,5", "1 000", "3.14", "-5", "−5", "50 %", "1/2", "½", "$5", "5 €", "twelve"),
        *("one", "да"),
        *("1.2 million", "2024-01-05", "January 5, 2024", "5.1.2024", "2024", "3 pm", "15:00", "Monday", "двенадцать"),
        *("yes,", "No", "true", "нет", "9" * 20, "minus", "and", "x", "."),
    ]
)
TEXTS = (st.lists(PIECES, max_size=5).map(" ".join) | strategies.texts).filter(strategies.is_plain)
OPTIONS: list[dict[str, Any]] = [{}, {"which": "last"}, {"absolute": 0.5}, {"relative": 0.1, "which": "last"}]


@pytest.mark.parametrize(
    ("answer", "reference", "options", "score"),
    [
        *[
            ("It costs $1,200.", "1200", {}, 1),
            ("1.000,5 km", "1000.5", {}, 1),
            ("-5", "5", {}, 0),
            ("3.14", "314", {}, 0),
        ],
        *[
            ("50%", "1/2", {}, 1),
            ("twelve", "12", {}, 1),
            ("двенадцать", "12", {}, 1),
            ("1.2 million", "1200000", {}, 1),
        ],
        *[
            ("€5", "$5", {}, 0),
            ("$5", "5", {}, 1),
            ("Jan 5, 2024", "2024-01-05", {}, 1),
            ("in 2024", "2024-01-05", {}, 0),
        ],
        *[("Yes, it is.", "yes", {}, 1), ("No, yes", "yes", {}, 0), ("False.", "no", {}, 1), ("It is", "yes", {}, 0)],
        *[("3.15", "3.14", {}, 0), ("3.15", "3.14", {"absolute": 0.02}, 1), ("99", "100", {"relative": 0.01}, 1)],
        *[("98", "100", {"relative": 0.01}, 0), ("3, no: 4", "3", {}, 1), ("3, no: 4", "3", {"which": "last"}, 0)],
        *[("12 and 5", "5 of 12", {}, 1), ("12", "5 of 12", {}, 0), ("one", "1", {}, 1), ("x", "y", {}, np.nan)],
        *[("2", ["x", "2"], {}, 1), ("2", [None, "x"], {}, np.nan)],
    ],
)
def test_worked_values(answer: str, reference: Any, options: dict[str, Any], score: float) -> None:
    np.testing.assert_equal(fm.number_match([answer], [reference], **options)[0], score)
    np.testing.assert_equal(numbers.number_match(answer, reference, **options), score)


ALIKE = [
    *[("1.5e6", "1500000"), ("1.5E-3", "0.0015"), ("2e+3", "2000"), ("1.5×10^6", "1500000"), ("10^6", "1000000")],
    *[("about 1.5 x 10^6", "1,500,000"), ("6.02×10²³", "6.02e23"), ("2·10⁻³", "0.002"), ("1.5x10**6", "1500000")],
    *[(r"$1.5 \times 10^{-6}$", "1.5e-6"), (r"2 \cdot 10^5", "200000"), ("1 1/2 cups", "1.5"), ("1½", "1 1/2")],
    *[("2 and a half", "2.5"), ("two and a half million", "2500000"), ("half a million", "500000")],
    *[("five and three quarters", "5.75"), ("one third of them", "1/3"), ("треть", "1/3"), ("a hundred", "100")],
    *[("-US$4", "-4"), ("US$-4", "-4"), ("paid -A$4", "-4"), ("-$4", "-4"), ("$-4", "-4"), ("US$4", "4")],
    *[("5-7%", "5% to 7%"), ("5 to 7 %", "5%-7%"), ("5 – 7 %", "5-7%"), ("2–3 million", "2,000,000 and 3,000,000")],
    ("5‰", "0.005"),
    *[("5 per mille", "0.5 %"), ("one hundred and five", "105"), ("two thousand twenty-four", "2024")],
    *[("one million two hundred thousand", "1.2 million"), ("five hundred and twelve thousand", "512 000")],
    *[("двести пять", "205"), ("сто", "100"), ("полтора миллиона", "1,5 млн"), ("три с половиной", "3,5")],
    *[("тысяча девятьсот сорок пять", "1945"), ("две тысячи двадцать четыре", "2024"), ("полторы тысячи", "1500")],
    *[("between one hundred and two hundred", "100 to 200"), ("two thousand and three thousand", "3000")],
    *[("2024-01-05T10:30:00Z", "January 5, 2024"), ("2024-01-05T10:30:00+02:00", "10:30")],
    *[("£1,234.56", "1234.56"), ("1.234,56 €", "1234.56"), ("CHF 1'234.50", "1234.5"), ("₹1,00,000", "100000")],
]
UNLIKE = [
    *[("-US$4", "4"), ("5-7%", "-7%"), ("5 - US$4", "-4"), ("COVID-19", "-19"), ("x-US$4", "-4"), ("1/2/2024", "1.5")],
    *[("5x10 cm", "50"), ("5 x 10", "50"), ("1.5e", "15"), ("third quarter", "0.75")],
    *[("500 to 2 million", "500 million"), ("5 - 2 million", "5 million"), ("one third-party tool", "1/3")],
    ("several million", "2 million"),
    *[("($1,200)", "-1200"), ("5 dollars", "5 euros"), ("forty, five", "45"), ("one hundred and two hundred", "102")],
]


@pytest.mark.parametrize(("pairs", "score"), [(ALIKE, 1.0), (UNLIKE, 0.0)])
def test_forms_that_people_write(pairs: list[tuple[str, str]], score: float) -> None:
    found = fm.number_match(*(list(side) for side in zip(*pairs, strict=True)))
    assert [pair for pair, one in zip(pairs, found, strict=True) if one != score] == []
    assert [pair for pair in pairs if numbers.number_match(*pair) != score] == []


# Numbers in all languages.  The months and words of scale are written down here, not taken from babel.


MONTHS = {
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "it": "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
    "pt": "janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro",
    "nl": "januari februari maart april mei juni juli augustus september oktober november december",
    "tr": "Ocak Şubat Mart Nisan Mayıs Haziran Temmuz Ağustos Eylül Ekim Kasım Aralık",
    "uk": "січня лютого березня квітня травня червня липня серпня вересня жовтня листопада грудня",
    "ru": "января февраля марта апреля мая июня июля августа сентября октября ноября декабря",
    "ar": "يناير فبراير مارس أبريل مايو يونيو يوليو أغسطس سبتمبر أكتوبر نوفمبر ديسمبر",
    "hi": "जनवरी फ़रवरी मार्च अप्रैल मई जून जुलाई अगस्त सितंबर अक्तूबर नवंबर दिसंबर",
    "hu": "január február március április május június július augusztus szeptember október november december",
}
DAYS = {"de": "{d}. {m} {y}", "es": "{d} de {m} de {y}", "pt": "{d} de {m} de {y}", "hu": "{y}. {m} {d}."}
DATES = [
    (DAYS.get(code, "{d} {m} {y}").format(d=day, m=month, y=year), year, number, day)
    for place, (code, names) in enumerate(MONTHS.items())
    for number, month in enumerate(names.split(), 1)
    for year, day in [(2020 - place, number + place)]
]
SCALES = [
    *[("2,5 Milliarden", 2.5e9), ("2,5 Millionen", 2.5e6), ("3 Mrd. Euro", 3e9), ("7 Mio", 7e6), ("3 万", 3e4)],
    ("3 亿", 3e8),
    *[("5 crore", 5e7), ("5 lakh", 5e5), ("5 milyon", 5e6), ("5 milyar", 5e9), ("7 bin kişi", 7e3)],
    ("3 миллиарда", 3e9),
    *[("2 mil millones", 2e9), ("5 mil", 5e3), ("4 millones", 4e6), ("2 milhões", 2e6), ("3 bilhões", 3e9)],
    ("2 billones", 2e12),
    *[("5 millions", 5e6), ("5 milliards", 5e9), ("2 billions d'euros", 2e12), ("6 milioni", 6e6), ("6 miliardi", 6e9)],
    *[("4 miljoen", 4e6), ("4 miljard", 4e9), ("4 biljoen", 4e12), ("5 milionów", 5e6), ("5 miliardów", 5e9)],
    ("3 tysiące", 3e3),
    *[("2 мільйони", 2e6), ("2 мільярди", 2e9), ("5 тисяч", 5e3), ("4 miljoonaa", 4e6), ("4 miljardia", 4e9)],
    *[("5 मिलियन", None), ("5 करोड़", 5e7), ("5 लाख", 5e5), ("9 مليون", 9e6), ("9 مليار", 9e9), ("٩ مليون", 9e6)],
    *[("5 triệu", 5e6), ("5 tỷ", 5e9), ("5 juta", 5e6), ("5 miliar", 5e9), ("3만", 3e4), ("3억", 3e8), ("5億円", 5e8)],
    *[("1亿2000万人", 1.2e8), ("答案是5万", 5e4), ("5 millió", 5e6), ("5 milliárd", 5e9), ("5 εκατομμύρια", 5e6)],
    *[("5 מיליון", 5e6), ("5 ล้าน", 5e6), ("2 billion", 2e9), ("2 billion people in the world", 2e9)],
    *[("170 billion dollars", 1.7e11), ("5 trillion yen", 5e12), ("1 Billion Euro", 1e12)],
    ("Das sind 2 billion", 2e12),
]


def test_months_of_all_languages_are_those_of_the_digits() -> None:
    texts = [text for text, *_ in DATES]
    right = [f"{year}-{month:02}-{day:02}" for _, year, month, day in DATES]
    assert [text for text, one in zip(texts, fm.number_match(texts, right), strict=True) if one != 1] == []
    assert fm.number_match(texts, right[1:] + right[:1]).sum() == 0
    assert fm.novel_number_rate([f"On {text}." for text in texts], [[text] for text in right]).sum() == 0


def test_words_of_scale_of_all_languages() -> None:
    known = [(text, value) for text, value in SCALES if value is not None]
    texts, right = [text for text, _ in known], [f"{value:.0f}" for _, value in known]
    assert [text for text, one in zip(texts, fm.number_match(texts, right), strict=True) if one != 1] == []
    others = [f"{10 * value:.0f}" for _, value in known]
    assert fm.number_match(texts, others).sum() == 0


MORE = [
    *[(r"\frac{3}{4}", "0.75", 1), (r"\frac{3}{4}", "3/4", 1), (r"$\dfrac{1}{2}$", "50 %", 1)],
    (r"2\frac{1}{2}", "2.5", 1),
    *[(r"-\frac{1}{2}", "-0.5", 1), (r"\frac{-1}{2}", "-0.5", 1), (r"\boxed{\frac{3}{4}}", "0.75", 1)],
    (r"1{,}000", "1000", 1),
    *[(r"\frac{2}{3}", r"\frac{3}{2}", 0), (r"-\frac{1}{2}", r"\frac{1}{2}", 0), (r"\tfrac12", "2", 0)],
    (r"$90^\circ$", "90", 1),
    *[(r"2\sqrt3", r"3\sqrt2", None), (r"\sqrt{2}", "2", None), ("x^2+1", "x^2-1", None), ("2x", "2y", None)],
    ("√2", "2", None),
    *[("5²", "5", None), ("x > 5", "x < 5", None), ("±5", "5", None), (r"\frac{\pi}{2}", "2", None)],
    ("2^10", "1024", None),
    *[("(1, 2)", "(2, 1)", None), ("2+3", "3", None), ("x - 1", "1", None), (r"\log_2 8", "8", None)],
    ("x^2+1", "x^2+1", 1),
    *[("x = 5", "5", 1), ("f(2) = 5", "5", 1), ("2 + 3 = 5", "5", 1), ("10⁶", "1000000", 1), ("5 m²", "5", 1)],
    ("B-52", "52", 1),
    *[("v2.0.1", "0.1", 0), ("v2.0.1", "2.0", 0), ("v2.0.1", "v2.0.1", 1), ("v2.0.1", "v2.0.2", 0)],
    ("192.168.0.1", "168", 0),
    *[("2.0.1", "0.1", 0), ("1.000.000", "1000000", 1), ("version 2.0", "2", 1), ("9" * 20, "9" * 20, 1)],
    ("9" * 20, "8" * 20, None),
    *[("5. Januar 2020", "2020-01-05", 1), ("Dec 2020", "2020-12", 1), ("12/2020", "December 2020", 1)],
    ("2020/12", "2020-12", 1),
    *[("12. Dez. 2020", "2020-12-12", 1), ("12. Dez.", "12. Nov.", 0), ("5 dez", "5 nov", None)],
    ("2020年1月5日", "2020-01-05", 1),
    *[("2020년 1월 5일", "2020-01-05", 1), ("ngày 5 tháng 1 năm 2020", "2020-01-05", 1), ("1月5日", "January 5", 1)],
    *[("5 listopada 2020", "2020-11-05", None), ("5 listopada 2020", "5 listopada 2020", 1)],
    ("1er mai 2020", "2020-05-01", 1),
    *[("в 15:00", "в 3 часа дня", 1), ("в 15 часов", "15:00", 1), ("um 15 Uhr", "15:00", 1), ("15h30", "15:30", 1)],
    *[("3 Uhr nachmittags", "15:00", 1), ("下午3点半", "15:30", 1), ("午後3時", "3 pm", 1), ("오후 3시", "15:00", 1)],
    ("через 3 дня", "3", 1),
    *[("в 3 часа ночи", "15:00", 0), ("3 часа", "3", 1), ("24 Stunden", "24", 1), ("15.30 Uhr", "15:30", 1)],
    *[("The answer is [42].", "42", 1), ("Die Antwort: [42]", "42", 1), ("It is 330 m [1].", "330", 1)],
    ("It is 330 m [1].", "1", None),
    *[("5 миллиардам", "5000000000", None), ("5 Millionär", "5", None), ("5 millióval", "5", None)],
    ("listopada 2020", "2020", None),
    *[("5 million 300 thousand", "5300000", 1), ("330 meters tall", "330 metres", 1), ("5 apples", "5", 1)],
    ("5 min", "5", 1),
    *[("٣٫٥", "3.5", 1), ("३.५", "3.5", 1), ("５", "5", 1), ("no number", "5", 0), ("5 out of 10", "5", 1)],
    ("-> 5", "5", 1),
    *[("<b>5</b>", "5", 1), ("C++ 5", "5", 1), ("I have 5 + a lot", "5", 1), ("3.5億", "350000000", 1)],
    *[(r"\tfrac12", "0.5", 1), (r"\dfrac12", "0.5", 1), (r"\frac1{4}", "0.25", 1), (r"\sqrt5", "5", None)],
    *[("5 dozen eggs", "60", 1), ("half a dozen", "6", 1), ("two dozen", "24", 1), ("5 дюжин", "60", 1)],
    *[("5 bn", "5e9", 1), ("5 mn", "5000000", 1), ("5 tn", "5e12", 1), ("5 Mrd", "5e9", 1), ("3 k", "3000", 1)],
    *[("$5 M", "5000000", 1), ("$5 M", "5", 0), ("300 K", "300", 1), ("5 m", "5", 1), ("3 score", "3", None)],
    *[("5!", "120", 1), ("5! ways", "120", 1), ("It is 5!", "5", 1), ("5! = 120", "120", 1), ("30!", "30", None)],
    *[("In 1997! they", "1997", 1), ("20!", "20", None), ("15×15 pixels of each of the two sides", "15", 1)],
    *[("twice 5", "10", 1), ("twice five", "10", 1), ("thrice 5", "15", 1), ("He won twice", "2", 1)],
    *[("twice 5", "5", 0), ("twice 5", "2", 0), ("twice in 5 years", "5", 1), ("5 times in 3 years", "3", 1)],
    *[
        (text, "5", None)
        for text in ("5 squared", "five cubed", "a 5-fold rise", "5 bps", "5 to the power of 3", "5 to the third power")
    ],
    *[
        (text, "5", None)
        for text in ("5 plus 3", "5 times 3", "10 minus 5", "5 divided by 3", "5*3", "5 × 3", "5 mod 3")
    ],
    *[(text, "5", None) for text in ("root of 5", "sqrt(5)", "log of 5", "half of 5", "a third of 5", "double 5")],
    *[(text, "5", None) for text in ("5 mal 3", "5 hoch 3", "5 geteilt durch 3", "Hälfte von 5", "5 im Quadrat")],
    *[(text, "5", None) for text in ("racine carrée de 5", "5 au carré", "5 fois 3", "el doble de 5", "la mitad de 5")],
    *[
        (text, "5", None)
        for text in ("metà di 5", "metade de 5", "корень из 5", "половина от 5", "5 плюс 3", "5 в кубе")
    ],
    *[(text, "5", None) for text in ("5 в степени 3", "5的平方", "5乘以3", "5 的一半", "5の2乗", "5의 제곱")],
    *[(text, "5", 1) for text in ("5 plus others", "**5** * 3", "5-7", "5 x 10 cm", "5平方公里", "1 of 5", "A-5")],
    *[(text, "20", None) for text in ("3 hours 20 minutes", "3h 20m", "6 ft 20 in", "3 Stunden und 20 Minuten")],
    *[(text, "20", None) for text in ("3 heures 20 minutes", "3 horas y 20 minutos", "3 часа 20 минут", "3小时20分钟")],
    *[("3 hours 20 minutes", "3 hours 20 minutes", 1), ("5 days, 20 days", "20", 1), ("5 years, 20 people", "20", 1)],
    *[(text, "20", 1) for text in ("for the first time in 20 years", "5 hours in 20 days")],
    *[("Q3 2020", "Q2 2020", 0), ("2020 Q3", "Q3 of 2020", 1), ("third quarter of 2020", "Q3 2020", 1)],
    *[("3. Quartal 2020", "Q3 2020", 1), ("3e trimestre 2020", "Q3 2020", 1)],
    ("в третьем квартале 2020", "Q3 2020", 1),
    *[("first half of 2020", "second half of 2020", 0), ("H1 2020", "first half of 2020", 1)],
    ("Q3 2020", "2020-08", 0),
    *[(f"{letter}123", "123", 0) for letter in "aéяαאا"],
    *[("ا١٢٣", "123", 0), ("第3", "3", 1)],
    *[(text, "5", None) for text in ("0º5", "5ª3", "12°5", "12° 5′", "-5°30", "48°51'5\" N", "١º٥")],
    *[("12º5", "12º5", 1), ("12° 5′", "12°5′", 1), ("12°5", "-12°5", None), ("5º3", "7", None), ("12º5 and 5", "5", 1)],
    *[(text, "5", 1) for text in ("5º", "5ª, 3ª", "5°C", "5°–10°", "5° 3", "5м3", "5 км3", "5км2.", "5個3個", "5м²")],
    *[(text, "5", 0) for text in ("5é3", "3é5", "5µ3", "5ч30", "5é_3", "5₂3", "5км32")],
]


@pytest.mark.parametrize(("answer", "reference", "right"), MORE)
def test_what_changes_a_number_is_read_or_said(answer: str, reference: str, right: int | None) -> None:
    """Unread where ``right`` is None: neither equal nor different."""
    table = fm.score({"answer": [answer, "7"], "reference": [reference, "7"]}, "number_match")
    np.testing.assert_array_equal(table["number_match"].to_numpy(), [np.nan if right is None else right, 1])
    found = fm.summarize(table)["number_match"]
    assert (found.n_unread, found.n_undefined, found.n) == (int(right is None), 0, 2 - (right is None))


def test_a_note_names_the_word_and_what_to_do() -> None:
    table = fm.score({"answer": ["5", "5 Millionär", "√2"], "reference": ["5", "5", "2"]}, "number_match")
    notes = [note for note in fm.summarize(table).notes if note.startswith("number_match")]
    assert notes == [
        "number_match: 1 of 3 rows (first: row 1) hold a number beside 'millionär', which may change it, and are "
        "undefined; write the number out in digits",
        "number_match: 1 of 3 rows (first: row 2) hold mathematics that is not read: roots, powers, variables, "
        "comparisons, angles, and are undefined; math_match compares algebra",
    ]


@pytest.mark.parametrize(
    ("answer", "contexts", "scores"),
    [
        ("In 5. Februar 2020.", ["2020-02-05"], (0, 0)),
        ("In 5. Februar 2020.", ["5. Januar 2020"], (1, 1)),
        ("Es sind 2,5 Milliarden.", ["2.5 billion"], (0, 0)),
        ("Es sind 2,5 Milliarden.", ["2,5 Millionen"], (1, 1)),
        ("Rund 5 Millionär.", ["5 Millionär"], (np.nan, 0)),
        ("Rund 5 Millionär.", ["5 km"], (np.nan, np.nan)),
        ("Rund 5 km.", ["5 Millionär"], (np.nan, np.nan)),
        ("Rund 5 km.", ["7 Millionär"], (1, 1)),
        ("Nur [1].", ["so"], (np.nan, 0)),
        ("Version v2.0.1.", ["v2.0.1"], (0, 0)),
        ("Version v2.0.1.", ["0.1 und 2"], (1, 1)),
    ],
)
def test_unread_numbers_of_answers_and_contexts(answer: str, contexts: list[str], scores: tuple[float, float]) -> None:
    found = fm.novel_number_rate([answer], [contexts])[0], fm.hallucination([answer], [contexts])[0]
    for one, expected in zip(found, scores, strict=True):
        if np.isnan(expected) or expected == 1:
            np.testing.assert_equal(one, expected)
        else:
            assert one < 0.5


# Two hundred answers with units in ten languages, whose right value is known by how they are made.


UNITS = {
    "de": ("{} Kilometer", "Es sind {}.", {"Tausend": 3, "Millionen": 6, "Milliarden": 9}, "Millionär"),
    "fr": ("{} mètres", "Cela fait {}.", {"millions": 6, "milliards": 9}, "millionièmes"),
    "es": ("{} litros", "Son {} en total.", {"mil": 3, "millones": 6, "mil millones": 9}, "millonésimo"),
    "it": ("{} chili", "Sono {}.", {"mila": 3, "milioni": 6, "miliardi": 9}, "milionesimo"),
    "pt": ("{} euros", "São {}.", {"mil": 3, "milhões": 6, "bilhões": 9}, None),
    "tr": ("{} ton", "Toplam {} eder.", {"bin": 3, "milyon": 6, "milyar": 9}, "milyonuncu"),
    "pl": ("{} metrów", "To jest {}.", {"tysięcy": 3, "milionów": 6, "miliardów": 9}, "milionami"),
    "ru": ("{} километров", "Это {}.", {"тысяч": 3, "миллионов": 6, "миллиардов": 9}, "миллиардами"),
    "zh": ("{}公里", "一共是{}。", {"万": 4, "亿": 8}, None),
    "hi": ("{} किलोमीटर", "यह {} है।", {"हज़ार": 3, "लाख": 5, "करोड़": 7}, None),
}


def made_answers(seed: int, n: int = 200) -> list[tuple[str, str, float]]:
    """Answers, references in digits, and 1, 0, or NaN where a number stands beside what cannot be told."""
    chance, rows = random.Random(seed), []
    for place in range(n):
        unit, frame, scales, unclear = UNITS[[*UNITS][place % len(UNITS)]]
        number, kind = chance.randint(2, 999), chance.choice(["plain", "scaled", "other", "wrong", "unclear"])
        scale = chance.choice([*scales])
        written, value, right = str(number), number, 1.0
        if kind in ("scaled", "other", "wrong"):
            written, value = f"{number} {scale}", number * 10 ** scales[scale]
        if kind == "other":
            value, right = number * 10 ** (scales[scale] + 1), 0.0
        elif kind == "wrong":
            value, right = number, 0.0
        elif kind == "unclear" and unclear is not None:
            written, right = f"{number} {unclear}", np.nan
        rows.append((frame.format(unit.format(written)), f"{value}", right))
    return rows


@pytest.mark.parametrize("seed", [0, 1])
def test_units_in_ten_languages_are_never_silently_wrong(seed: int) -> None:
    answers, references, right = map(list, zip(*made_answers(seed), strict=True))
    table = fm.score({"answer": answers, "reference": references}, "number_match")
    found = table["number_match"].to_numpy()
    wrong = [row for row in zip(answers, references, right, found, strict=True) if row[2] != row[3] == row[3]]
    assert wrong == []
    assert np.isnan(found).tolist() == np.isnan(right).tolist()
    assert fm.summarize(table)["number_match"].n_unread == np.isnan(right).sum() > 10


@given(st.lists(st.tuples(st.none() | TEXTS, st.none() | st.lists(st.none() | TEXTS, max_size=3)), max_size=6))
@example([("İ 5", ["5", "İ"]), ("5 İ yes", ["yes"]), ("", [""])])
@pytest.mark.parametrize("options", OPTIONS)
def test_any_row(options: dict[str, Any], rows: list[tuple[Any, Any]]) -> None:
    answers, references = [answer for answer, _ in rows], [texts for _, texts in rows]
    expected = [numbers.number_match(*row, **options) for row in rows]
    np.testing.assert_array_equal(
        fm.number_match(answers, references, **options),
        np.array([np.nan if score is None else score for score in expected]),
    )


@pytest.mark.parametrize("options", OPTIONS)
def test_many_values_are_compared_without_all_pairs(options: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(1)
    pieces = ["1", "1.5", "$2", "€2", "3", "40 %", "2024-01-05", "Jan 5", "3 pm", "15:00", "Monday", "one", "9.7", "x"]
    answers, references = (
        [" and ".join(chance.choices(pieces, k=chance.randint(0, size))) for _ in range(300)] for size in (12, 3)
    )
    expected = [numbers.number_match(*row, **options) for row in zip(answers, references, strict=True)]
    monkeypatch.setattr(SIZES, "compared_values", 0)
    np.testing.assert_array_equal(fm.number_match(answers, references, **options), np.array(expected, np.float64))


def test_a_long_row_takes_time_in_proportion_to_its_length() -> None:
    stated = "1 2.5 $3 2024-01-05 " * 50_000
    assert fm.number_match([stated, stated], [stated, f"{stated} 7"]).tolist() == [1.0, 0.0]
