"""Choices in the forms that models write, against the plain definition."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import fastmetrics as fm
from fastmetrics.text.stated_choices import LONE, stated_choices
from tests.reference import choices
from tests.support import strategies
from tests.support.program import jsonl, program

STATED = r"""
B Therefore B.
B So B.
B Hence B
B So it's B.
B It's (b).
B Not (a); it is option (b).
A It is (A).
B Correct: B
B It can't be A. The sky is blue. Therefore B.
B Step 3: so we get B
C Answer: I think it is C
C Answer: most likely C
C The answer is neither A nor B; it is C.
B B
B b
B (b)
B b) Paris
B B. Paris
B **B. Paris**
B B) Paris is it
B B: Paris
B `B`
2 A or B
2 A, B and C
2 both (A) and (B)
2 Answer: A/B
2 answer B and C
2 The answer is either B or C.
2 I'm torn between A and B.
B The answer is A. No, the answer is B.
C Answer: A⏎⏎Wait, that is wrong. Answer: C
- I don't know.
- None of the above
- Paris
- It isn't A.
- Option A is wrong
- a cat sat
- I think so
- C++ is fine
- The answer is a banana
- ⏎
? U.S. president George W. Bush
- B is not correct
2 A is correct or B is correct
? Option A says Paris. Option B says Rome.
2 A) Paris⏎B) Rome⏎C) Oslo
B A) Paris⏎B) Rome⏎C) Oslo⏎⏎The correct one is B.
2 so $\boxed{\text{(B)}}$, not \boxed{} A
B \boxed{B}
B The final answer is $\boxed{B}$. I hope it is correct.
2 \boxed{A, C}
C I choose C.
D I'd go with D
D My answer would be D.
B I'll pick B
C I'm going with C!
D That leaves us with D.
D This leaves only D.
D We can rule out A and C, so D.
B By elimination, B.
B Definitely B.
B B, because A is wrong
B B because A is wrong
B It's not A but B.
C Not A, but C.
B B rather than A.
B B, not A
B The answer is B, not A.
B B is the right one, as A is not
B B is correct; A and C are wrong.
B Option B is the best.
B B it is.
B **Answer:** B
B ### Answer⏎B
B Answer:⏎⏎B
B <answer>B</answer>
B {'answer': 'B'}
B {"answer": "B"}
B Final answer: option (B).
B therefore b.
B so it's b
B the answer is b
B answer: (b)
C Is it A? No. So C.
B Could it be A? It is B.
B I don't think it is A. I think it's B.
C I don't think the answer is A; rather, C.
D The answer isn't A. It must be D
B → B
C ∴ C
2 A: 3, B: 5, C: 7. Since 5 is prime and largest under 6, B.
B Also B.
B Daher B.
B Die richtige Antwort ist B.
B Es ist B
C Ich wähle C.
C Weder A noch B; es ist C.
B Nicht A, sondern B.
B Antwort: B
B A ist falsch, also ist B richtig.
B B ist richtig.
C Folglich C
D Meine Antwort: D
B Deshalb ist es b.
B Donc B.
B C'est B.
B La réponse est B.
B La bonne réponse est la B.
C Je choisis C.
C Ni A ni B : c'est C.
B Ce n'est pas A, donc B.
B Réponse : B
D Par conséquent, D.
B A est fausse. B est correcte.
B Por lo tanto, B.
B Así que B
B Es la B.
B La respuesta correcta es: B
B La respuesta es la opción B.
C Elijo C
B No es A, sino B.
C Ni A ni B; es C.
C Entonces C.
B B es la correcta.
D A es incorrecta; por tanto, D
B Следовательно, B.
B Значит B
C Поэтому C.
B Ответ: B
B Правильный ответ — B.
B Не A, а B.
C Ни A, ни B; это C.
B Итак, правильный вариант B.
D Я выбираю D.
C Думаю, это C
B Скорее всего, B.
C A неверно, значит C.
B Верно: B
C Таким образом, ответ C
B B является правильным ответом.
B 所以选B。
C 因此答案是C。
B 答案：B
B 选B。
D 正确答案是D
B 不是A，而是B。
C 故选C
B 应该是B
B A不正确，所以是B。
C 选项C是正确的。
C A和B都不对，答案是C
D 我认为是D。
B 排除A，选B
B 答案为（B）
B 答案是Ｂ
B 정답: B
B 정답은 B입니다.
B 答えはBです
C したがってC
B Quindi B.
B La risposta è B.
C Portanto, C.
B A resposta é a B.
B Doğru cevap B
B الإجابة: B
C الإجابة الصحيحة هي C
B Cevap B'dir.
B The correct option is B because of A
B I think that it is (B), as of A
B B.⏎Because of A.
B Let us think.⏎⏎B
B The answer is: “B”
C Answer: C wieder haus baum
D The correct option is D, as foo
B (B) foo bar baz
A \boxed{A} foo bar
- I think foo bar
? B words and more
B So, considering all of these, B
C Thus, the correct answer is (C).
D Hence, option D is correct.
C My final choice: C
B Best answer = B
B Answer - B
B ANSWER: B
B It is B.
C It must be C.
B I would say B
D I believe the correct answer is D.
B Most likely B.
C Probably C
C C seems right.
C C seems to be the best answer
C The answer cannot be A or B. Thus C.
C A and B are both wrong. C.
C Neither A nor B is right; therefore C.
C Eliminate A. Eliminate D. We are left with C.
B Comparing A and B, B is better, so I answer B.
C Step 1: A is out.⏎Step 2: B fails.⏎Step 3: so C.
B The answer is B⏎⏎Explanation: A is the capital of France. C is in Norway.
2 B) Rome⏎⏎A) is in France. C) is in Norway.
B Answer: B) Rome
B Answer: **B** (Rome)
? Vitamin C is healthy
A Both A and B could be right, but I pick A.
D Hence, it is D - Oslo.
D So the answer: D) Oslo
B So: B
B Conclusion: B
B In conclusion, B.
A Finally, the answer is A
A Therefore, A.
A So A.
A Therefore A is correct.
A It is A
2 Answer: A and C
2 The answer is A.⏎The answer is B or C.
2 Antwort: A oder B
2 Ответ: A или C
2 答案是A或B
2 La réponse est A ou B
2 La respuesta es A o B
2 It's B or D.
2 So A, or B.
2 Either A or D, I'm not sure
? Answer: A dog
B A dog is B
A The answer is A because
A So A is right
- A cat sat
I I think it is I.
- Answer: I don't know
B Ответ: Б
2 Ответ: В
C Правильный ответ: С
A Ответ: А) Париж
B Ⓑ
? Cardi B-side, or vitamin C
- Be good
- B's turn
- I'm
- Ébène
- Bach
- Answer: 5
D That makes D the correct answer.
C Es muss C sein.
B Я думаю, что B
2 The answer is D. Wait, no => C the others
"""
"""What each text states, before it: a letter; several (2); letters of which it does not say so (?); or none (-)."""

PIECES = st.sampled_from(
    [
        *("A", "B", "c", "a", "I", "(", ")", "(B)", ".", ":", ",", "/", "*", "-", "'s", "+", "\n", " ", " ", " ", "\t"),
        *("answer", "Answer", "option", "is", "the correct", " or ", " and ", "cat", r"\boxed{", r"\text{", "}"),
        *("é", "“"),
        *("答案", "选", "：", "Ответ", "ответ", "это", "5", "2", "_", "Paris", "new york", "York", "is correct"),
        "lösung",
    ]
)
TEXTS = st.lists(PIECES, max_size=10).map("".join) | strategies.texts
REFERENCES = st.sampled_from(["A", "b", "(C)", "0", "2", " 1.", "-1", "42", "Paris", "New York", "?", ""]) | TEXTS
OPTIONS = st.lists(
    st.none() | st.sampled_from(["Paris", "York", "New York.", "a cat", "", "new york york", "2", "1"]), max_size=4
)


ROWS_STATED = [(line[0], line[2:].replace("⏎", "\n")) for line in STATED.strip("\n").split("\n")]


@pytest.mark.parametrize(("stated", "text"), ROWS_STATED)
def test_forms(stated: str, text: str) -> None:
    found = read(text, False)
    assert {-1: "-", -2: "2", -3: "?"}.get(found) or chr(65 + found % LONE) == stated


@pytest.mark.filterwarnings("ignore::fastmetrics.ScoreWarning")
def test_scores_and_counts_of_forms() -> None:
    table = {"answer": [text for _, text in ROWS_STATED], "reference": ["B"] * len(ROWS_STATED)}
    scores = fm.score(table, "choice_match")
    expected = [np.nan if stated in "2?" else float(stated == "B") for stated, _ in ROWS_STATED]
    np.testing.assert_array_equal(scores["choice_match"].to_numpy(), expected)
    counted = {key.partition(";")[0]: some["rows"] for key, some in fm.summarize(scores)["choice_match"].unread.items()}
    stated = [stated for stated, _ in ROWS_STATED]
    assert counted == {
        "state two or more choices last": stated.count("2"),
        "name a letter but do not say that it is the choice": stated.count("?"),
        "state no choice": stated.count("-"),
    }


def read(text: str, digits: bool) -> int:
    """What one text states, as the reader says, which ``test_forms`` holds to what was worked out."""
    return int(stated_choices(pa.array([text]), digits=digits)[0])


# Answers whose choice is known, made of sentences in six languages.

BEFORE = [
    *("", "Let me think. ", "Step 1: read the question.\nStep 2: compare the options.\n", "It can't be {w}. "),
    *("{w} is wrong, because the river is longer. ", "Option {w} says that it rains. "),
    *("At first I thought it was {w}. ", "Is it {w}? No. ", "The capital moved in 1889. "),
    *("{w} and {v} can be ruled out. ", "Not {w}. ", "{w}) Rome\n{r}) Paris\n\n", "We compare {w} and {v}.\n\n"),
    "The answer is {w}. Wait, no. ",
]
STATEMENTS = r"""
Therefore {r}.
So {r}.
Hence {r}
So it's {r}.
Correct: {r}
Step 3: so we get {r}
Answer: I think it is {r}
Answer: most likely {r}
The answer is neither {w} nor {v}; it is {r}.
Thus, the right choice is {r}.
My pick: {r}
I'd answer {r}.
So my final answer would be {r}.
It has to be {r}.
That makes {r} the correct answer.
{r} is the answer.
Final answer: {r}
I'm confident the answer is {r}.
The best option here is {r}.
I will select {r}.
Only {r} is correct.
which means the answer must be {r}.
The correct answer is therefore {r}.
I choose option {r}.
This gives {r}.
so the solution is {r}
It should be {r}.
Consequently, {r}.
{r} is the only correct option.
Let's go with {r}.
=> {r}
The answer isn't {w}, it's {r}.
Answer ({r})
The answer: {r}
Also {r}.
Daher ist {r} richtig.
Die Antwort lautet {r}.
Somit ist die richtige Antwort {r}.
Es muss {r} sein.
Richtig ist {r}.
Ich würde {r} wählen.
Weder {w} noch {v}, sondern {r}.
Folglich ist es {r}.
Ich entscheide mich für {r}.
Die korrekte Option ist {r}.
Das ergibt {r}.
Donc {r}.
C'est donc {r}.
La réponse correcte est {r}.
Ma réponse : {r}
Il s'agit de {r}.
Je dirais {r}.
Ni {w} ni {v}, mais {r}.
La bonne option est {r}.
Ainsi, la réponse est la lettre {r}.
Je pense que c'est {r}.
{r} est la bonne réponse.
Par conséquent, c'est {r}.
Por lo tanto, {r}.
Entonces es {r}.
La respuesta es {r}.
Mi respuesta: {r}
Luego {r}.
Creo que es {r}.
No es {w}, sino {r}.
La opción correcta es la {r}.
Elijo la {r}.
Por eso, la respuesta correcta sería {r}.
{r} es la respuesta correcta.
Debe ser {r}.
Следовательно, {r}.
Значит, это {r}.
Ответ — {r}.
Правильный ответ: {r}
Итак, {r}.
Думаю, что {r}.
Не {w}, а {r}.
Верный вариант — {r}.
Поэтому ответ {r}.
Я выбираю вариант {r}.
{r} — правильный ответ.
Таким образом, верно {r}.
所以答案是{r}。
因此选{r}。
正确答案为{r}。
我选{r}。
答案应该是{r}。
故答案为{r}。
不是{w}，而是{r}。
正确选项是{r}。
选项{r}正确。
综上，选{r}。
答案：{r}
最可能的是{r}。
""".strip().split("\n")
SIGNS = ["{}", "{}", "**{}**", "({})", "**({})**", "`{}`", r"\boxed{{{}}}", r"$\boxed{{\text{{{}}}}}$", '"{}"', "[{}]"]
TWO = """
The answer is {r} or {w}.
Either {r} or {w}.
So {r} and {w}.
Therefore {r}, {w}.
Correct: {r}/{w}
Die Antwort ist {r} oder {w}.
La réponse est {r} ou {w}.
La respuesta es {r} y {w}.
Ответ: {r} или {w}.
答案是{r}或{w}。
""".strip().split("\n")
NO = """
I don't know.
None of these.
It depends on the country.
Paris, I think.
I cannot tell from the text.
Keine davon.
Je ne sais pas.
No lo sé.
Не знаю.
不知道。
It can't be {w}.
{w} is wrong.
{w} and {v} are wrong.
The text does not say.
""".strip().split("\n")


def made_answers(n: int, seed: int) -> list[tuple[str, str]]:
    """Answers, and what each states: a letter, two (2) or none (-)."""
    chance, made = random.Random(seed), []
    for _ in range(n):
        right, wrong, other = chance.sample("ABCD", 3)
        letters = {"w": wrong, "v": other}
        kind = chance.choices(["one", "2", "-"], [8, 1, 1])[0]
        if kind == "-":
            made.append((chance.choice(NO).format(**letters), "-"))
            continue
        before = chance.choice(BEFORE).format(r=right, **letters)
        if kind == "2":
            made.append((before + chance.choice(TWO).format(r=right, **letters), "2"))
        else:
            sign = chance.choice(SIGNS).format(right)
            made.append(
                (before + chance.choice(STATEMENTS).format(r=sign, **letters) + chance.choice(["", "\n"]), right)
            )
    return made


@pytest.mark.filterwarnings("ignore::fastmetrics.ScoreWarning")
@pytest.mark.parametrize("seed", range(50, 60))
def test_200_made_answers_are_never_silently_wrong(seed: int) -> None:
    """The figures in docs/metrics.md are those of seed 50."""
    made = made_answers(200, seed)
    scores = fm.score({"answer": [text for text, _ in made], "reference": ["C"] * 200}, "choice_match")
    expected = [np.nan if stated == "2" else float(stated == "C") for _, stated in made]
    wrong = [
        (text, stated, score)
        for (text, stated), score, right in zip(made, scores["choice_match"].to_pylist(), expected, strict=True)
        if not (score == right or (np.isnan(score) and np.isnan(right)))
    ]
    assert wrong == []
    counted = {key.partition(";")[0]: some["rows"] for key, some in fm.summarize(scores)["choice_match"].unread.items()}
    assert counted["state two or more choices last"] == sum(stated == "2" for _, stated in made)
    assert counted["state no choice"] == sum(stated == "-" for _, stated in made)


# Any rows, against the plain definition.

ROWS = st.lists(
    st.tuples(st.none() | TEXTS, st.none() | st.lists(REFERENCES, max_size=3), st.none() | OPTIONS), max_size=8
)


@given(ROWS)
@example([("It is York", ["New York"], ["York", "New York"]), ("New York", ["b"], ["York", "New York"])])
@example([("answer: C", ["2"], None), ("B", ["1"], []), ("B", ["A"], ["York"])])
@example([("York or Paris", ["A"], ["York", "Paris"]), ("x", ["x"], None), ("\\boxed{é} B", ["B"], [None, "a"])])
def test_any_row(rows: list[tuple[Any, ...]]) -> None:
    columns = [list(column) for column in zip(*rows, strict=True)] or [[], [], []]
    expected = [choices.choice_match(read, *row) for row in rows]
    np.testing.assert_array_equal(
        fm.choice_match(*columns), np.array([np.nan if score is None else score for score in expected]), strict=True
    )
    if rows:
        alone = [choices.choice_match(read, answer, references, None) for answer, references, _ in rows]
        np.testing.assert_array_equal(
            fm.choice_match(*columns[:2]), np.array([np.nan if score is None else score for score in alone])
        )


LABELS = st.none() | st.lists(st.sampled_from(["1", "2", "0", "E", "b", "(F)", "x y", None]), max_size=4)


@given(ROWS, st.lists(LABELS, min_size=8, max_size=8), st.sampled_from(["auto", "from_0", "from_1", "text"]))
def test_any_row_with_labels_and_numbers(rows: list[tuple[Any, ...]], labels: list[Any], numbers: Any) -> None:
    answers, references, options = [list(column) for column in zip(*rows, strict=True)] or [[], [], []]
    labels = [
        None if label is None or option is None else (label * 4)[: sum(text is not None for text in option)]
        for label, option in zip(labels, options, strict=False)
    ]
    expected = [
        choices.choice_match(read, *row, label, numbers)
        for row, label in zip(zip(answers, references, options, strict=True), labels, strict=True)
    ]
    found = fm.choice_match(answers, references, options, labels, numbers=numbers)
    np.testing.assert_array_equal(found, np.array([np.nan if score is None else score for score in expected]))


CITIES = ["Rome", "Paris", "Oslo"]


@pytest.mark.filterwarnings("ignore::fastmetrics.ScoreWarning")
@pytest.mark.parametrize(
    ("answer", "score"),
    [
        ("It isn't Rome; it is Paris.", 1.0),
        ("Not Oslo but Paris", 1.0),
        ("Weder Rome noch Oslo, sondern Paris.", 1.0),
        ("Rome is wrong. Therefore Paris.", 1.0),
        ("The answer is Rome. No, the answer is Paris.", 1.0),
        ("Не Rome, а Paris.", 1.0),
        ("不是Rome，而是 Paris。", 1.0),
        ("Paris, not Rome", 1.0),
        ("It is not Paris.", 0.0),
        ("It isn't Paris but Oslo.", 0.0),
        ("Paris? No: Rome.", 0.0),
        ("Rome or Paris", np.nan),
        ("Paris and Oslo are both fine.", np.nan),
        ("Oslo lies north of Paris", np.nan),
        ("Lisbon", 0.0),
    ],
)
def test_the_words_of_the_choice_that_is_stated_last(answer: str, score: float) -> None:
    assert of_choices([answer], ["B"], CITIES) == pytest.approx([score], nan_ok=True)


def test_equal_texts_match_unread() -> None:
    table = {"answer": ["A or B", "A or B", "Option A says x"], "reference": ["A or B", "B", "Option A says x"]}
    scores = fm.score({**table, "choices": [["u", "v"]] * 3}, "choice_match")
    assert scores["choice_match"].to_pylist()[::2] == [1.0, 1.0]
    assert fm.summarize(scores)["choice_match"].n_unread == 1


def of_choices(answers: Any, references: Any, given: Any = None, **options: Any) -> list[float]:
    """The scores of rows with the same choices."""
    return fm.choice_match(answers, references, None if given is None else [given] * len(answers), **options).tolist()


@pytest.mark.filterwarnings("ignore::fastmetrics.ScoreWarning")
def test_numbers_of_choices() -> None:
    answers = ["The answer is **B**.", "It is Paris.", "Answer: 1", "C", "A or B"]
    for column in ([1] * 5, ["1"] * 5):
        assert of_choices(answers, column, CITIES) == pytest.approx([1.0, 1.0, 1.0, 0.0, np.nan], nan_ok=True)
    assert of_choices(answers, [1.0, None, 1.0, 2.0, 0.0], CITIES)[2:4] == [1.0, 1.0], "as pandas has them"
    assert of_choices(["B", "Paris", "Answer: 2"], [2] * 3, CITIES, numbers="from_1") == [1.0, 1.0, 1.0]
    assert of_choices(["B", "2", "B) 2"], [1, 1, 42]) == [1.0, 0.0, 0.0], "without choices"
    assert of_choices(["A", "B", "C"], [[0, 2]] * 3, CITIES) == [1.0, 0.0, 1.0], "two of them are right"


@pytest.mark.filterwarnings("ignore::fastmetrics.ScoreWarning")
def test_numbers_among_numbers() -> None:
    digits, letters = ["1", "2", "3", "4"], ["A", "B", "C", "D"]
    assert of_choices(letters, [2] * 4, digits) == [0.0, 0.0, 1.0, 0.0], "a column of numbers counts"
    assert of_choices(letters, ["2"] * 4, digits) == [0.0, 1.0, 0.0, 0.0], "one of texts has the texts"
    assert of_choices(letters, [2] * 4, digits, numbers="text") == [0.0, 1.0, 0.0, 0.0]
    assert of_choices(letters, ["2"] * 4, digits, numbers="from_0") == [0.0, 0.0, 1.0, 0.0]
    assert of_choices(letters, [42] * 4, ["7", "42", "1", "0"]) == [0.0, 1.0, 0.0, 0.0], "no place is 42"


@pytest.mark.parametrize(
    "given",
    [
        {"text": CITIES, "label": ["1", "2", "3"]},
        [{"label": label, "text": text} for label, text in zip("123", CITIES, strict=True)],
        {"1": "Rome", "2": "Paris", "3": "Oslo", "4": None},
    ],
)
def test_choices_with_labels(given: Any, tmp_path: Path) -> None:
    answers = ["B", "(2)", "Paris", "Answer: 3"]
    assert of_choices(answers, ["2"] * 4, given) == [1.0, 1.0, 1.0, 0.0]
    path = jsonl(tmp_path / "a.jsonl", *({"answer": text, "reference": 2, "choices": given} for text in answers))
    scores = fm.score(
        pa.Table.from_pylist([{"answer": t, "reference": 2, "choices": given} for t in answers]), "choice_match"
    )
    assert scores["choice_match"].to_pylist() == [1.0, 1.0, 1.0, 0.0]
    assert program("score", path, "-m", "choice_match", "-o", tmp_path / "o.csv").code == 0
    assert fm.summarize(tmp_path / "o.csv")["choice_match"].mean == 0.75


def test_labels_may_be_other_letters() -> None:
    given = {"text": CITIES, "label": ["F", "G", "H"]}
    assert of_choices(["(G)", "Paris", "Answer: H"], ["G"] * 3, given) == [1.0, 1.0, 0.0]
