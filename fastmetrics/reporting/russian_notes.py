"""The notes of results in Russian: templates of the English ones, with what stands at each place.

A note is one string of English wherever it is made, printed, joined with others, given to a caller or read back from a
file.  So it is translated where a page shows it, by the template that it fits as a whole.  Notes made as a template and
its values would need another type in all rooms and in their results and files, for the sake of one page.  A note that
fits no template stays English, and the page says so; a note half in English never comes about.

``{name}`` is any text, taken over as it is: names of metrics and systems, and what the user's files say.  ``{x:name}``
is one word, ``{x:names}`` closes the brackets that it opens.  ``{n:number}`` has its digits in the Russian form, and
so have the numbers behind the names of ``{x:counts}``.  ``{why:note}`` is translated in turn, and so is each part of
``{ways:notes}``, which commas divide.  ``{row|rows}`` is one of these words and does not come back.  In Russian,
``{n:строка|строки|строк}`` is the form of a word beside a number.  The first template that fits counts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache

from fastmetrics.reporting.labels import figures, plural_form

NOTES: Mapping[str, str] = {
    # marks and kinds of intervals
    "† {note:note} ({some:names})": "† {note} ({some})",
    "p: {note:note}": "p: {note}",
    "{level:number} % intervals: {ways:notes}": "Интервалы {level} %: {ways}",
    "{level:number} % intervals, clustered by {column}: {ways:notes}": (
        "Интервалы {level} %, кластеры по {column}: {ways}"
    ),
    "t widened for skewness": "t с поправкой на асимметрию",
    "exact for scores of 0 and 1": "точный для оценок 0 и 1",
    "adjusted for scores of 0 and 1": "исправленный для оценок 0 и 1",
    "the worst case within the bounds": "худший случай в пределах границ",
    "the worst case of what was not seen": "худший случай того, чего нет в данных",
    "Student's t": "t Стьюдента",
    "percentile bootstrap": "бутстреп по процентилям",
    "BCa bootstrap": "бутстреп BCa",
    "studentised bootstrap": "стьюдентизированный бутстреп",
    "the combined intervals of both runs": "соединённые интервалы обоих запусков",
    "normal approximation": "нормальное приближение",
    "order statistics": "порядковые статистики",
    # why an interval or p may hold another level
    "the interval is safe, but wider than its level needs: {why:note}": (
        "интервал надёжен, но шире, чем нужно для его уровня: {why}"
    ),
    "few rows of 0 or few of 1": "мало строк с 0 или мало строк с 1",
    "few labels of 0 or few of 1": "мало меток 0 или мало меток 1",
    "few rows differ": "мало строк отличаются от остальных",
    "all values agree": "все значения одинаковы",
    "all values are equally far from their mean": "все значения одинаково далеки от среднего",
    "few rows, or many equal ones, near the percentile": "около процентиля мало строк или много равных",
    "that of the labels alone, as no label changes it": "он по одним меткам, так как ни одна его не меняет",
    "approximate: {why:note}": "приблизительно: {why}",
    "fewer than {n:number} {what:note} of values without bounds, rare large ones may be missing": (
        "меньше {n} {what}, у значений нет границ, и редкие большие могли не попасть в выборку"
    ),
    "fewer than {n:number} rows differ from the most frequent value": (
        "от самого частого значения отличаются меньше {n} строк"
    ),
    "rare values near a bound may be missing from so few {what:note}": (
        "{what} мало, и редкие значения у границы могли не попасть в выборку"
    ),
    "clusters so uneven that they count as fewer than {n:number}": "кластеры так неравны, что их как бы меньше {n}",
    "few {what:note} decide the figure": "показатель решают немногие из {what}",
    "the differences are few and skewed": "различий мало, и они несимметричны",
    "a normal interval is too narrow for few labels": "при малом числе меток нормальный интервал слишком узок",
    "labels with fewer than {n:number} {what:note} weigh as much as others": (
        "метки, у которых меньше {n} {what}, весят столько же, сколько другие"
    ),
    "fewer than {n:number} contests of a system": "у системы меньше {n} сравнений",
    "a few questions decide the variance": "дисперсию решают немногие вопросы",
    "fewer than {n:number} {what:note}": "меньше {n} {what}",
    "unreliable: no kind of interval holds its level for fewer than {n:number} {what:note}": (
        "ненадёжно: меньше {n} {what}, и ни один вид интервала не держит свой уровень"
    ),
    "one side is open: too few rows to bound it": "с одной стороны границы нет: для неё слишком мало строк",
    "no interval: {why:note}": "интервала нет: {why}",
    "all values agree, and the bounds of the metric are not declared": (
        "все значения одинаковы, а границы метрики не объявлены"
    ),
    "the figure is less than −1": "показатель меньше −1",
    "all {what:note} agree equally": "согласие одинаково у всех {what}",
    "too many distinct amounts": "слишком много разных величин",
    "one label": "одна метка",
    "the metric is undefined without one of the rows": "без одной из строк метрика не определена",
    "the metric is undefined for resampled rows": "на перевыборках строк метрика не определена",
    "the metric is undefined for these rows": "на этих строках метрика не определена",
    "no row changes either figure": "ни одна строка не меняет показателей",
    "too few groups in a bin": "в столбце слишком мало групп",
    "rows": "строк",
    "clusters": "кластеров",
    # comparisons
    "rows paired by position: {counts:counts}": "Строки соединены по порядку: {counts}",
    "rows paired by {column}: {counts:counts}": "Строки соединены по {column}: {counts}",
    "independent rows: {counts:counts}": "Независимые строки: {counts}",
    "p by the {test|tests} {tests}, {how:note} for the number of comparisons, each group by itself: {groups:notes}": (
        "p по тесту {tests}, {how} на число сравнений, в каждой группе отдельно: {groups}"
    ),
    "p by the {test|tests} {tests}, {how:note} for {n:number} {comparison|comparisons}": (
        "p по тесту {tests}, {how} на {n} {n:сравнение|сравнения|сравнений}"
    ),
    "p by the {test|tests} {tests}, {how:note} for {n:number} {comparison|comparisons}, clustered by {column}": (
        "p по тесту {tests}, {how} на {n} {n:сравнение|сравнения|сравнений}, кластеры по {column}"
    ),
    "corrected by Holm": "с поправкой Холма",
    "corrected by Benjamini and Hochberg": "с поправкой Бенджамини и Хохберга",
    "not corrected": "без поправки",
    "{n:number} of other metrics": "{n} по другим метрикам",
    "{n:number} in segments": "{n} по сегментам",
    "clustered by {column}": "кластеры по {column}",
    "each interval has its level by itself, not all of them together; detectable is at the corrected level": (
        "Каждый интервал держит свой уровень отдельно, а не все вместе; обнаружимое различие — на исправленном уровне"
    ),
    "{where}, {other} against {baseline}: {n:number} rows with a score of {first} alone, {m:number} of {second}; they "
    "could reverse Δ, to between {low:number} and {high:number}": (
        "{where}, {other} против {baseline}: строк с оценкой только {first} — {n}, только {second} — {m}; они могли бы "
        "обратить Δ, до значения от {low} до {high}"
    ),
    "{where}, {other} against {baseline}: {n:number} rows with a score of {first} alone, {m:number} of {second}; they "
    "could reverse Δ": (
        "{where}, {other} против {baseline}: строк с оценкой только {first} — {n}, только {second} — {m}; они могли бы "
        "обратить Δ"
    ),
    "{n:number} more differences that unpaired rows could reverse": (
        "Строки с оценкой одной из систем могли бы обратить ещё {n} {n:различие|различия|различий}"
    ),
    "{n:number} to {m:number} {what:note}: the smallest possible p of {test} is {p:note}: no verdict can come": (
        "{n}–{m} {what}: наименьшее возможное p теста {test} равно {p}, поэтому вывода быть не может"
    ),
    "{n:number} {what:note}: the smallest possible p of {test} is {p:note}: no verdict can come": (
        "{n} {what}: наименьшее возможное p теста {test} равно {p}, поэтому вывода быть не может"
    ),
    "{n:number} to {m:number}": "{n}–{m}",
    "{p:number}, times {n:number} comparisons": "{p}, умноженному на {n} {n:сравнение|сравнения|сравнений}",
    "* fewer than {few:number} rows: {n:number} {segment|segments}": (
        "* меньше {few} строк: {n} {n:сегмент|сегмента|сегментов}"
    ),
    "mcnemar needs scores of 0 and 1; not computed for {names}": (
        "mcnemar требует оценок 0 и 1; не вычислен для {names}"
    ),
    "neither better nor worse, as no direction is declared: {names}": (
        "Ни лучше, ни хуже, так как направление не объявлено: {names}"
    ),
    "computed from the counts of all rows, which are swapped for p: {names}; wins, d_z, ranking and other tests do not "
    "exist for them": (
        "Вычислены из счётчиков всех строк, которые для p меняются местами: {names}; для них нет числа побед, d_z, "
        "порядка систем и других тестов"
    ),
    "segments by {name}, a score of {system}: rows chosen by one system's score regress to the mean: the other system "
    "seems to gain where the score is low and to lose where it is high": (
        "Сегменты по {name}, оценке {system}: строки, выбранные по оценке одной системы, возвращаются к среднему, и "
        "кажется, что другая система выигрывает там, где оценка низкая, и проигрывает там, где она высокая"
    ),
    "{first} and {other} differ in {column} in {n:number} rows, which are put by {system}": (
        "{first} и {other} различаются в {column}, строк: {n}; эти строки отнесены по {system}"
    ),
    "{first} and {other} have different questions in {n:number} rows, first in {row}: {texts}": (
        "У {first} и {other} разные вопросы, строк: {n}, первая — {row}: {texts}"
    ),
    "{first} and {other} have the same ids but different questions, by their fingerprints": (
        "У {first} и {other} одинаковые id, но разные вопросы, судя по отпечаткам"
    ),
    "{run}: {many:note} answers to each of {n:number} questions; a question's score is their mean": (
        "{run}: ответов на каждый вопрос — {many}, вопросов — {n}; оценка вопроса — их среднее"
    ),
    "{run}: {many:note} rounds in the rows of each of {n:number} questions; a question's score is their "
    "mean, of tokens "
    "and prices their sum": (
        "{run}: раундов у каждого вопроса — {many}, вопросов — {n}; оценка вопроса — их среднее, токены и цены "
        "складываются"
    ),
    "{names}: {n:number} infinite {score counts|scores count} as undefined": (
        "{names}: {n} {n:бесконечная оценка|бесконечные оценки|бесконечных оценок} — это «не определено»"
    ),
    "{n:number} of {m:number} judged queries are not in the ranking and {how:note} ({option})": (
        "В выдаче нет {n} из {m} запросов с разметкой, {how} ({option})"
    ),
    "score 0": "их оценка — 0",
    "are left out": "они не учтены",
    # tables of several runs
    "* over the rows with a score: {parts:notes}": "* по строкам с оценкой: {parts}",
    "{figure} {n:number} of {m:number} ({run})": "{figure} {n} из {m} ({run})",
    "not scored: {parts:notes}; the suite primary has all": "Не посчитано: {parts}; всё это есть в наборе primary",
    "{figure} needs {metric:name}": "для {figure} нужна {metric}",
    "paired: shares of the rows that are high in both figures or in one, from {least:counts} on": (
        "Парный анализ: доли строк, где высоки оба показателя или один из них; высоко — начиная с {least}"
    ),
    "figures over the {n:number} rows that all runs have; other rows: {counts:counts}": (
        "Показатели — по {n} {n:строке|строкам|строкам}, которые есть у всех; других строк: {counts}"
    ),
    "rows cannot be paired by id, so each figure is over the run's own": (
        "Строки нельзя соединить по id, поэтому каждый показатель — по строкам своего запуска"
    ),
    "* mean over some rows: the other rows have no score": "* среднее по части строк: у остальных нет оценки",
    "{name}: shows {n:number} of {m:number} segments, those of most rows; the others are one": (
        "{name}: показано {n} из {m} сегментов, с наибольшим числом строк; остальные соединены в один"
    ),
    "* other rows than in the previous run, so the questions differ": (
        "* строки не те, что в предыдущем запуске, то есть вопросы другие"
    ),
    # scores: rows and columns that a metric cannot do justice to
    "{names}: up to {n:number} of {m:number} scored rows ({share}) {cause:note}; {advice:note}": (
        "{names}: до {n} из {m} строк с оценкой ({share}) {cause}; {advice}"
    ),
    "{names}: {n:number} of {m:number} scored rows ({share}) {cause:note}; {advice:note}": (
        "{names}: {n} из {m} строк с оценкой ({share}) {cause}; {advice}"
    ),
    "are in a script without spaces between words (such as Chinese or Thai), where a sentence is one word": (
        "написаны без пробелов между словами (как китайский или тайский), и предложение считается одним словом"
    ),
    "are in a script other than Latin, whose words this tokenizer drops": (
        "написаны не латиницей, а такие слова этот токенизатор отбрасывает"
    ),
    "are in a script other than Latin, and the {words:note} are English": (
        "написаны не латиницей, а {words} — английские"
    ),
    "are in a script other than Latin and Cyrillic, and the {words:note} are English and Russian": (
        "написаны не латиницей и не кириллицей, а {words} — английские и русские"
    ),
    "phrases": "фразы",
    "stop words": "стоп-слова",
    "verbs of claims": "глаголы утверждений",
    "negations": "отрицания",
    "number words and months": "числительные и месяцы",
    "markers": "слова-признаки",
    "word lists": "списки слов",
    "are in a script other than Latin and Cyrillic, and most others have no capital letters, by which "
    "names are found": (
        "написаны не латиницей и не кириллицей, а в других письменностях обычно нет заглавных букв, по которым "
        "находятся имена"
    ),
    "are in a script other than Latin, and wordllama, the embedder, is a model of English": (
        "написаны не латиницей, а wordllama — английская модель"
    ),
    "are in a script other than Latin and were compared as words of every script": (
        "написаны не латиницей и сравнены как слова любой письменности"
    ),
    "have an answer in another script than the contexts": "имеют ответ не той письменности, что контексты",
    "have no relevant document and are excluded from the mean": "не имеют релевантных документов и не входят в среднее",
    "have no relevant document and score 0": "не имеют релевантных документов и получают 0",
    "have fewer retrieved documents than the cut-off": "имеют меньше найденных документов, чем глубина",
    "begin with a fence of Markdown, which is no JSON": "начинаются с ограды Markdown, а это не JSON",
    "cite nothing, so none of their sentences counts as supported": (
        "не ссылаются ни на что, и ни одно предложение не считается подтверждённым"
    ),
    "share a model call with another row of their question, so they are equal by construction": (
        "получены одним вызовом модели с другой строкой того же вопроса и потому одинаковы"
    ),
    "{option}, as in {metric}, treats each character as a word, and chrf needs no words": (
        "{option}, как в {metric}, считает словом каждый знак, а chrf не нужны слова"
    ),
    "normalized=True with asian_support=True splits Chinese and Japanese, and cer needs no words": (
        "normalized=True с asian_support=True делит китайский и японский, а cer не нужны слова"
    ),
    "use tokenizer='unicode' to keep them, as in {metric}": "tokenizer='unicode' сохраняет их, как в {metric}",
    "use tokenizer='zh' for Chinese or tokenizer='char' for any script, as in {metric}": (
        "возьмите tokenizer='zh' для китайского или tokenizer='char' для любой письменности, как в {metric}"
    ),
    "cer compares characters, and {metric} takes each as a word": (
        "cer сравнивает знаки, а {metric} считает каждый словом"
    ),
    "{option} sets those of other languages": "{option} задаёт слова других языков",
    "{option} reads those of other languages": "{option} читает списки других языков",
    "{option} parses other languages": "{option} разбирает другие языки",
    "{option} knows other languages": "{option} знает другие языки",
    "{option} keeps them": "{option} сохраняет их",
    "{metric} needs none": "{metric} их не требует",
    "numbers in the digits 0 to 9 count in any script": "числа цифрами 0–9 считаются в любой письменности",
    "the rest as rouge_score does, which would have dropped these words": (
        "остальные — как в rouge_score, который отбросил бы эти слова"
    ),
    "the words of one cannot occur in the other, only numbers and dates can": (
        "слова одного не могут встретиться в другом, только числа и даты"
    ),
    "no_relevant='zero' scores them 0, as trec_eval does": "no_relevant='zero' даёт им 0, как trec_eval",
    "no_relevant='undefined' excludes them from the mean": "no_relevant='undefined' исключает их из среднего",
    "the search was not asked for {k}, or found no more: the scores are those of what it returned": (
        "у поиска не просили {k}, или он больше не нашёл: оценено то, что он вернул"
    ),
    "name the right choice by a number, read as its place from {first} ({example})": (
        "называют верный вариант числом, и оно прочитано как его место, начиная с {first}"
    ),
    "{option}, as in {metric}, counts from {first}, numbers='text' takes numbers for texts": (
        "{option}, как в {metric}, считает с {first}, а numbers='text' берёт числа как тексты"
    ),
    "have a number as reference that is one choice by its place and another one by its text": (
        "имеют эталоном число, которое по месту — один вариант, а по тексту — другой"
    ),
    "numbers='from_0' or 'from_1' takes the place, numbers='text' the text (in columns of numbers the place counts by "
    "default, in columns of texts the text)": (
        "numbers='from_0' или 'from_1' берёт место, numbers='text' — текст (по умолчанию в столбцах чисел считается "
        "место, в столбцах текстов — текст)"
    ),
    "{option} takes what is in it": "{option} берёт то, что внутри",
    "citations are matches of the option pattern: {pattern}": "ссылки — это совпадения с параметром pattern: {pattern}",
    "answer with repeats (--repeats K) to make a call for each": (
        "отвечайте с repeats (--repeats K), чтобы вызов был у каждой"
    ),
    "{column}: {n:number} {number or flag was|numbers or flags were} read as text": (
        "{column}: как текст прочитаны числа или флаги, их {n}"
    ),
    "{column}: {n:number} {list of one was|lists of one were} read as text": (
        "{column}: как текст прочитаны списки из одного элемента, их {n}"
    ),
    "{column}: {n:number} {what:note}, and each was read as one text; {advice:note}": (
        "{column}: {n} {n:текст|текста|текстов} — {what}, и каждый прочитан как один текст; {advice}"
    ),
    "{text is a list|texts are lists}, as JSON, Python or NumPy {writes it|writes them}": (
        "список в записи JSON, Python или NumPy"
    ),
    "{text is a history|texts are histories} of messages in JSON": "история сообщений в JSON",
    "{text is a list|texts are lists} of objects in JSON": "список объектов в JSON",
    "{text is an object|texts are objects} in JSON": "объект в JSON",
    "{text has|texts have} parts between pipes": "части между вертикальными чертами",
    "{option} reads the lists": "{option} читает списки",
    "{option} reads the last answer": "{option} читает последний ответ",
    "{option} reads a field of {each|them}": "{option} читает поле каждого",
    "{option} reads them as lists": "{option} читает их как списки",
    "blank cells are missing: {cells:notes}; {option} reads them as empty texts": (
        "Пустые ячейки считаются отсутствующими: {cells}; {option} читает их как пустые тексты"
    ),
    "{n:number} of {m:number} in {column:name}": "{n} из {m} в {column}",
    "answers are missing because their calls failed: {reasons}": "Ответов нет, потому что вызовы не удались: {reasons}",
    "{column}: {n:number} {answer holds|answers hold} the thoughts of a model, which were scored with the answer; "
    "{option} leaves them out": (
        "{column}: {n} {n:ответ содержит|ответа содержат|ответов содержат} рассуждения модели, и они оценены вместе с "
        "ответом; {option} исключает их"
    ),
    "{column}: thoughts were left out of {n:number} {answer|answers}": (
        "{column}: рассуждения исключены из {n} {n:ответа|ответов|ответов}"
    ),
    "{column}: thoughts were left out of {n:number} {answer|answers}; {m:number} of them end within a thought, without "
    "an answer": (
        "{column}: рассуждения исключены из {n} {n:ответа|ответов|ответов}; {m} из них обрываются на рассуждении, без "
        "ответа"
    ),
    "{column}: {n:number} of {m:number} texts have an answer by {way}; {k:number} {has none and counts as wrong|have "
    "none and count as wrong}": (
        "{column}: ответ по {way} есть в {n} из {m} текстов; без него {k}, и это считается ошибкой"
    ),
    "{column}: {n:number} of {m:number} values are below {slow} and were read as milliseconds; {seconds} "
    "reads seconds, "
    "{milliseconds} says that they are milliseconds": (
        "{column}: {n} из {m} значений меньше {slow} и прочитаны как миллисекунды; {seconds} читает секунды, "
        "{milliseconds} говорит, что это миллисекунды"
    ),
    "{n:number} {answer holds|answers hold} a reference but for its spelling: {option} makes both "
    "alike (texts of "
    "at most {most:number} bytes were compared)": (
        "{n} {n:ответ содержит|ответа содержат|ответов содержат} эталон в другом написании: {option} делает их "
        "одинаковыми (сравнены тексты не "
        "длиннее {most} байт)"
    ),
    "rubrics in English: {n:number} of {m:number} rows ({share}) have texts mostly {letters:note}; {advice:note}, and "
    "your own rubric may be in any language; validate says how far people agree with the judge": (
        "Рубрики на английском: в {n} из {m} строк ({share}) тексты в основном {letters}; {advice}, а своя рубрика "
        "может быть на любом языке; validate скажет, насколько люди согласны с судьёй"
    ),
    "rubrics in Russian: {n:number} of {m:number} rows ({share}) have texts mostly {letters:note}; {advice:note}, and "
    "your own rubric may be in any language; validate says how far people agree with the judge": (
        "Рубрики на русском: в {n} из {m} строк ({share}) тексты в основном {letters}; {advice}, а своя рубрика может "
        "быть на любом языке; validate скажет, насколько люди согласны с судьёй"
    ),
    "not in Latin letters": "не латиницей",
    "neither in Cyrillic nor in Latin letters": "не кириллицей и не латиницей",
    "--language ru has the built-in rubrics in Russian": "--language ru берёт встроенные рубрики на русском",
    "--language en has them in English": "--language en берёт их на английском",
    # scores: what was left out or added up
    "{suite}: not scored for lack of columns: {names}": "{suite}: не посчитаны, нет столбцов: {names}",
    "claims are not marked: they were scored by {what}, which is not installed here": (
        "Утверждения не отмечены: их оценил {what}, а здесь он не установлен"
    ),
    "the rows of {n:number} systems are pooled ({names}); {each} shows each, {all} compares them": (
        "Соединены строки {n} {n:системы|систем|систем} ({names}); {each} показывает каждую, {all} сравнивает их"
    ),
    "left out, because some parts lack the counts of their rows: {names}": (
        "Не учтены, потому что у части данных нет счётчиков строк: {names}"
    ),
    "left out: {name}, a corpus metric that is unknown here; load the plugin that declares it": (
        "Не учтена {name}: эта метрика здесь неизвестна; загрузите модуль, который её объявляет"
    ),
    "left out: {name}, which needs the {scores|column} {names}": "Не учтена {name}: ей нужны {names}",
    "{names}: computed from {n:number} of {m:number} rows; the others have no score": (
        "{names}: вычислены по {n} из {m} строк; у остальных нет оценки"
    ),
    "{names}: rows of one id are rounds, which add up: {n:number} rows are {m:number} answers": (
        "{names}: строки с одним id — раунды, они складываются: строк {n}, ответов {m}"
    ),
    "{names}: every id has {n:number} rows, taken as answers of their own; a column 'round' would say that they are "
    "rounds, which add up": (
        "{names}: у каждого id {n} {n:строка|строки|строк}, и каждая взята как отдельный ответ; столбец "
        "'round' скажет, "
        "что это раунды, которые складываются"
    ),
    "the rows are not those that were scored, by the fingerprint of their ids": (
        "Строки не те, что были оценены, судя по отпечатку их id"
    ),
    "every null is counted as missing: the metadata describe {n:number} rows, but there are {m:number}": (
        "Каждое пустое значение считается отсутствующим: по метаданным строк {n}, а их {m}"
    ),
    "every null of {name} is counted as missing: the metadata do not count {n:number} nulls": (
        "Каждое пустое значение {name} считается отсутствующим: в метаданных не учтено {n}"
    ),
    "{names}: these {n:number} rows are far from the labelled rows that it was fitted to: the distribution differs for "
    "{k:number} of {m:number} metrics (population stability index: {listed}; from {least:number} on); its held-out "
    "figures may not hold here: label some of these rows and fit it again": (
        "{names}: эти строки ({n}) далеки от размеченных, на которых она настроена: распределение отличается у {k} из "
        "{m} метрик (индекс стабильности: {listed}; начиная с {least}); её проверочные показатели могут здесь не "
        "держаться: разметьте часть этих строк и настройте её снова"
    ),
    "{name}: its plugin has a caution for {n:number} of {m:number} scored rows; load it to read why": (
        "{name}: её модуль предупреждает о {n} из {m} строк с оценкой; загрузите его, чтобы узнать почему"
    ),
    "{names}: {n:number} of {m:number} rows (first: row {k:number}) {why:note}, and are undefined": (
        "{names}: {n} из {m} строк (первая: строка {k}) {why} и не определены"
    ),
    "{names}: {n:number} of {m:number} rows (first: row {k:number}) {why:note}, and are undefined; {advice:note}": (
        "{names}: {n} из {m} строк (первая: строка {k}) {why} и не определены; {advice}"
    ),
    "{names}: {n:number} of {m:number} rows (first: row {k:number}) {why:note}, and count as wrong": (
        "{names}: {n} из {m} строк (первая: строка {k}) {why} и считаются неверными"
    ),
    "{names}: {n:number} of {m:number} rows (first: row {k:number}) {why:note}, and count as wrong; {advice:note}": (
        "{names}: {n} из {m} строк (первая: строка {k}) {why} и считаются неверными; {advice}"
    ),
    # judges
    "{word:note} over {n:number} repeated rows: consistency {figure:number} {interval}": (
        "{word} по {n} {n:повторённой строке|повторённым строкам|повторённым строкам}: постоянство {figure} {interval}"
    ),
    "reliable": "надёжно",
    "fair": "средне",
    "unstable": "неустойчиво",
    "undefined": "не определено",
    "wins are those of {first} over {second}: {n:number} in both orders, {other} {m:number}; ties or "
    "another verdict in "
    "the other order: {k:number}": (
        "Победы — у {first} над {second}: {n} в обоих порядках, у {other} {m}; ничьих или других решений в обратном "
        "порядке: {k}"
    ),
    "{n:number} pairs of identical answers: ties, left out of the flips": (
        "Пар одинаковых ответов: {n}; это ничьи, и они не входят в число перемен"
    ),
    "rank correlation with the length of the answer: {value:number}": "Ранговая корреляция с длиной ответа: {value}",
    "no correlation with the length of the answer: judge with --keep answer for it": (
        "Корреляции с длиной ответа нет: для неё judge должен сохранить ответ (--keep answer)"
    ),
    "{n:number} + {m:number} tokens": "Токенов: {n} + {m}",
    "{n:number} + {m:number} tokens, cost {cost:number} by the table of prices": (
        "Токенов: {n} + {m}, стоимость по таблице цен: {cost}"
    ),
    "{run}: {n:number} labels belong to no judged row": "{run}: меток без оценённой строки: {n}",
    "{run}: no judged row has a label; is the sheet filled in?": (
        "{run}: ни у одной оценённой строки нет метки; заполнен ли лист?"
    ),
    "{run}: the range of {axis} is unknown without its rubric; 1 to 5 is assumed": (
        "{run}: без рубрики неизвестны границы {axis}; взяты от 1 до 5"
    ),
    "{run} has no accuracy and kappa: its repeats are missing, {column}": (
        "{run} без точности и каппы: нет столбца повторов, {column}"
    ),
    "{run} has no accuracy and kappa: labels are outside its range of {low:number} to {high:number}": (
        "{run} без точности и каппы: метки вне границ от {low} до {high}"
    ),
    "{run} has no accuracy and F1: the labels are grades, without the lowest positive one: {option}": (
        "{run} без точности и F1: метки — ступени, а наименьшая положительная не названа: {option}"
    ),
    # classes
    "{predicted} against {expected}: {n:number} {row|rows}": (
        "{predicted} против {expected}: {n} {n:строка|строки|строк}"
    ),
    "{n:number} {row|rows} without a prediction left out; a label of its own there, such as none, is wrong": (
        "Не учтены строки без предсказания: {n}; своя метка на их месте, например none, — ошибка"
    ),
    "{n:number} {row|rows} without an expected label left out": "Не учтены строки без ожидаемой метки: {n}",
    "the {k:number} most frequent of {n:number} labels; to_dict() and --json have all": (
        "Самые частые {k} из {n} меток; все есть в to_dict() и --json"
    ),
    "{n:number} {row|rows} with a predicted label that no row expects, all wrong: {labels}": (
        "Строки с предсказанной меткой, которой не ждёт ни одна строка: {n}, все ошибочны: {labels}"
    ),
    "never predicted: {labels}": "Ни разу не предсказаны: {labels}",
    "{n:number} {row|rows} with an expected label in another case; {option} ignores case": (
        "Строки, где ожидаемая метка в другом регистре: {n}; {option} не различает регистр"
    ),
    # logs
    "{n:number} rankings, their first {k:number} places": (
        "{n} {n:выдача|выдачи|выдач}, {k} {k:первое место|первых места|первых мест}"
    ),
    "left out without a ranking: {n:number} {row|rows}": "Не учтены строки без выдачи: {n}",
    "without a table of chunks, unused chunks are unknown and gini covers the used chunks only": (
        "Без таблицы фрагментов неизвестно, какие не используются, и gini — только по используемым"
    ),
    "never retrieved: {names}": "Ни разу не найдены: {names}",
    "{n:number} retrieved {id is|ids are} not in the table of chunks: {names}": (
        "Найденных id, которых нет в таблице фрагментов: {n}; например {names}"
    ),
    "{n:number} questions in {k:number} topics, seed {seed}": (
        "{n} {n:вопрос|вопроса|вопросов}, тем: {k}; начальное число — {seed}"
    ),
    "no question is nearest to {n:number} of {k:number} clusters, so there are fewer topics": (
        "Кластеров, к которым не близок ни один вопрос: {n} из {k}; тем поэтому меньше"
    ),
    "fewer than {k:number} distinct questions, so there are fewer topics than requested": (
        "Разных вопросов меньше {k}, поэтому тем меньше, чем задано"
    ),
    "failures: {column}": "Неудачи: {column}",
    "no column identifies failures, so no gaps are listed": (
        "Ни один столбец не говорит о неудачах, и пробелов не видно"
    ),
    "{n:number} rows without a question or vector were left out": "Не учтены строки без вопроса или вектора: {n}",
    "{n:number} rows without a question, vector or time were left out": (
        "Не учтены строки без вопроса, вектора или времени: {n}"
    ),
    "{n:number} rows without a session, question or vector were left out": (
        "Не учтены строки без сеанса, вопроса или вектора: {n}"
    ),
    "{n:number} rows without a question were left out": "Не учтены строки без вопроса: {n}",
    "each question is compared with earlier questions only": "Каждый вопрос сравнивается только с более ранними",
    "without a column rating, every earlier answer counts as stored": (
        "Без столбца rating сохранённым считается каждый более ранний ответ"
    ),
    "all ratings are null, so no answer counts as stored and the hit rate is undefined": (
        "Все оценки rating пусты: ни один ответ не считается сохранённым, и доля попаданий не определена"
    ),
    "without a column answer, it is unknown which questions were answered": (
        "Без столбца answer неизвестно, на какие вопросы есть ответ"
    ),
    "near repeats and languages: a sample of {n:number} of {m:number} distinct questions": (
        "Почти повторы и языки — по выборке: {n} из {m} разных вопросов"
    ),
    # metadata of the data page
    "{file} ({n:number} bytes)": "{file} ({n} {n:байт|байта|байт})",
    "and {n:number} more": "и ещё {n}",
    "yes": "да",
    "no": "нет",
    # parts of other notes
    "{n:number} of {metric:name}": "{n} по {metric}",
    "{n:number}": "{n}",
    "{figure} = {metric:name} or {other:name}": "{figure} = {metric} или {other}",
    "{figure} = {metric:name}": "{figure} = {metric}",
    "{what:note} ({some:names})": "{what} ({some})",
    "{parts:notes}, {last:note}": "{parts}, {last}",
}
"""The Russian template of each English one."""

_PLACE = re.compile(r"\{([^{}]+)\}")
_NUMBER = r"[+−-]?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?(?:–\d[\d,.]*)?|–|nan|inf"
"""A number, or the least and the greatest of those that notes on several systems have."""
_BETWEEN = re.compile(r", (?![^()]*\))")
"""What divides the parts of a list: commas outside brackets."""
_COUNT = re.compile(r"(?<= )[\d.,]*\d(?=, |$)")
_MORE = re.compile(r" and ([\d,]+) more$")


def _as_text(text: str) -> str:
    return _MORE.sub(lambda found: f" и ещё {figures(found[1], 'ru')}", text)


def _as_list(text: str) -> str | None:
    parts = [_whole(part) for part in _BETWEEN.split(text)]
    return None if None in parts else ", ".join(map(str, parts))


def russian(note: str) -> str | None:
    """A note in Russian, which may stand behind the name of a system; None for a note that fits no template.

    >>> russian("† approximate: fewer than 20 rows (token_f1, exact_match and 2 more)")
    '† приблизительно: меньше 20 строк (token_f1, exact_match и ещё 2)'
    >>> russian("a note of a plugin")
    """
    told = _whole(note)
    if told is None:
        name, _, rest = note.partition(": ")
        about = _whole(rest)
        told = None if about is None else f"{name}: {about}"
    return told


def _whole(note: str) -> str | None:
    """A note that fits one template as a whole."""
    for pattern, kinds, template in _patterns():
        found = pattern.fullmatch(note)
        if found is None:
            continue
        values: dict[str, str] = {}
        for name, text in found.groupdict().items():
            value = kinds[name](text)
            if value is None:
                break
            values[name] = value
        else:
            return _filled(template, values, found.groupdict())
    return None


_KINDS: Mapping[str, tuple[str, Callable[[str], str | None]]] = {
    "": (".+?", _as_text),
    "name": (r"\S+(?:\([^()]*\))?", str),
    "counts": (".+?", lambda text: _COUNT.sub(lambda found: figures(found[0], "ru"), text)),
    "number": (_NUMBER, lambda text: figures(text, "ru")),
    "names": (r"(?:[^()]|\([^()]*\))+", _as_text),
    "note": (".+?", _whole),
    "notes": (".+?", _as_list),
}
"""By kind of a place: what stands there, and that in Russian."""


@cache
def _patterns() -> Sequence[tuple[re.Pattern[str], Mapping[str, Callable[[str], str | None]], str]]:
    return [(*_compiled(english), template) for english, template in NOTES.items()]


def _compiled(english: str) -> tuple[re.Pattern[str], Mapping[str, Callable[[str], str | None]]]:
    pattern, kinds = "", {}
    for at, part in enumerate(_PLACE.split(english)):
        if at % 2 == 0:
            pattern += re.escape(part)
        elif "|" in part:
            pattern += f"(?:{'|'.join(map(re.escape, part.split('|')))})"
        else:
            name, _, kind = part.partition(":")
            form, kinds[name] = _KINDS[kind]
            pattern += f"(?P<{name}>{form})"
    return re.compile(pattern), kinds


def _filled(template: str, values: Mapping[str, str], english: Mapping[str, str]) -> str:
    def at_place(found: re.Match[str]) -> str:
        name, _, forms = found[1].partition(":")
        return (
            plural_form(forms, int(english[name].rpartition("–")[2].replace(",", "")), "ru") if forms else values[name]
        )

    return _PLACE.sub(at_place, template)
