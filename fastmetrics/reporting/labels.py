"""The words of a report in each language: labels, headings of tables, and the forms of words beside numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from fastmetrics.base.display import Grid
from fastmetrics.reporting.sections.section import Section

_WORDS = {
    "overview": ("Overview", "Обзор"),
    "distributions": ("Distributions", "Распределения"),
    "comparison": ("Comparison", "Сравнение"),
    "rows": ("Rows", "Строки"),
    "data": ("Data", "Данные"),
    "left_out": ("left out", "не учтено"),
    "pages": ("Pages of the report", "Разделы отчёта"),
    "skip": ("Skip to the content", "Перейти к содержанию"),
    "theme": ("Dark mode", "Тёмная тема"),
    "rows_scored": ("rows", "строк"),
    "metrics": ("metrics", "метрик"),
    "systems": ("systems", "системы"),
    "count_rows": ("{n} row|{n} rows", "{n} строка|{n} строки|{n} строк"),
    "count_metrics": ("{n} metric|{n} metrics", "{n} метрика|{n} метрики|{n} метрик"),
    "count_systems": ("{n} system|{n} systems", "{n} система|{n} системы|{n} систем"),
    "of_rows": ("of {n} row|of {n} rows", "из {n} строки|из {n} строк|из {n} строк"),
    "of_metrics": ("of {n} metric|of {n} metrics", "из {n} метрики|из {n} метрик|из {n} метрик"),
    "primary": ("Primary table", "Главная таблица"),
    "appendix": ("Appendix of the primary table", "Приложение к главной таблице"),
    "paired_analysis": ("Paired analysis", "Парный анализ"),
    "appendix_head": ("appendix", "приложение"),
    "run": ("run", "запуск"),
    "every_metric": ("Every metric", "Все метрики"),
    "first_looks": ("What to look at first", "На что посмотреть сначала"),
    "main_mean": (
        "{metric}, the main metric: mean {mean}, 95 % interval {interval}, rows with a score: {n}.",
        "{metric}, главная метрика: среднее {mean}, интервал 95 % {interval}, строк с оценкой: {n}.",
    ),
    "answers_only": (
        "This table holds answers, not scores: run fastmetrics score (fm.score) on it first. Shown are the numbers "
        "that stand beside the answers.",
        "В таблице ответы, а не оценки: сначала выполните fastmetrics score (fm.score). Показаны числа, стоящие рядом "
        "с ответами.",
    ),
    "look_at": (
        "A metric's name opens its rows, the worst first.",
        "Имя метрики открывает её строки, худшие сначала.",
    ),
    "pointer_poor": ("Poor by its thresholds:", "Плохо по порогам:"),
    "pointer_low_segment": ("Below the mean of all rows:", "Ниже среднего по всем строкам:"),
    "pointer_lacking": ("Rows without a score:", "Строк без оценки:"),
    "worst_rows": ("The worst rows by {metric}", "Худшие строки: {metric}"),
    "worst_note": (
        "Those of equal scores stand in the order of the file.",
        "Равные оценки стоят в порядке файла.",
    ),
    "worst_fell": ("{system}, against {baseline}", "{system} против {baseline}"),
    "tied": ("+ {n} more with {value}", "+ ещё {n}, где {value}"),
    "all_worst": ("all rows", "все строки"),
    "no_direction": ("Measures without a direction", "Показатели без направления"),
    "no_direction_note": (
        "More of these is neither better nor worse: lengths, counts.",
        "Больше здесь не значит ни лучше, ни хуже: длины, количества.",
    ),
    "head_better": ("{other} is better than {baseline}", "{other} лучше, чем {baseline}"),
    "head_worse": ("{other} is worse than {baseline}", "{other} хуже, чем {baseline}"),
    "head_open": (
        "{other} against {baseline}: {concern} undecided",
        "{other} против {baseline}: {concern} — без вывода",
    ),
    "head_equal": (
        "{other} against {baseline}: {concern} equal in every row",
        "{other} против {baseline}: {concern} — одинаково в каждой строке",
    ),
    "head_identical": (
        "{other} has the same scores as {baseline} in every row",
        "У {other} те же оценки, что у {baseline}, в каждой строке",
    ),
    "decided_by": ("Decided by {metric}, the main metric.", "Решает {metric}, главная метрика."),
    "no_main": (
        "No metric with a direction: nothing here is better or worse",
        "Нет метрик с направлением: здесь нет лучшего и худшего",
    ),
    "concern_quality": ("quality", "качество"),
    "concern_retrieval": ("retrieval", "поиск"),
    "concern_cost": ("cost", "стоимость"),
    "concern_form": ("form", "форма"),
    "beside_dearer": ("{percent} % dearer", "дороже на {percent} %"),
    "beside_cheaper": ("{percent} % cheaper", "дешевле на {percent} %"),
    "beside_slower": ("{percent} % slower", "медленнее на {percent} %"),
    "beside_faster": ("{percent} % faster", "быстрее на {percent} %"),
    "beside_higher": ("{metric} {percent} % higher", "{metric} больше на {percent} %"),
    "beside_lower": ("{metric} {percent} % lower", "{metric} меньше на {percent} %"),
    "dissent": (
        "Other metrics of {concern}: better {better}, worse {worse}.",
        "Другие метрики ({concern}): лучше {better}, хуже {worse}.",
    ),
    "lead_over": ("{first} leads: better than {beaten}", "{first} впереди: лучше, чем {beaten}"),
    "lead_mean": ("{first} has the best mean", "У {first} лучшее среднее"),
    "lead_none": (
        "No system is shown to be better than another",
        "Ни одна система не лучше другой сверх случайного",
    ),
    "lead_near": ("Not told apart from {first}: {near}.", "Не отличить от {first}: {near}."),
    "means": ("Means", "Средние"),
    "changed_from": ("Differences from {baseline}", "Отличия от {baseline}"),
    "changed": ("What changed", "Что изменилось"),
    "by_hint": (
        "To see where, divide the rows into segments: report --by COLUMN, in Python by=. Columns with few values: "
        "{columns}.",
        "Чтобы увидеть, где именно, разделите строки на сегменты: report --by СТОЛБЕЦ, в Python by=. Мало значений "
        "имеют: {columns}.",
    ),
    "unscored_metrics": ("No rows:", "Нет строк:"),
    "comparison_title": ("{others} against {baseline}", "{others} против {baseline}"),
    "shifted": ("Changed, but neither better nor worse", "Изменилось, но ни лучше, ни хуже"),
    "undecided": ("Undecided: the difference may be chance", "Без вывода: различие может быть случайным"),
    "system": ("system", "система"),
    "matrix": ("Each system against each", "Каждая система против каждой"),
    "matrix_note": (
        "{metric} of the system of the line minus that of the column; in colour where it is more than chance.",
        "{metric} системы строки минус то же у системы столбца; цветом — где различие больше случайного.",
    ),
    "differences": ("Differences", "Различия"),
    "further": ("Differences among the other systems", "Различия между остальными системами"),
    "counted_rows": ("Rows won and lost, effect sizes", "Строки лучше и хуже, величина эффекта"),
    "scale_note": (
        "Those with a verdict come first. Intervals of metrics with the same bounds are drawn on one scale; others "
        "each on their own. A metric's name opens its rows.",
        "Сначала различия с выводом. Интервалы метрик с общими границами даны в одном масштабе, остальные — каждый в "
        "своём. Имя метрики открывает её строки.",
    ),
    "metric": ("metric", "метрика"),
    "mean": ("mean", "среднее"),
    "low": ("lower bound", "нижняя граница"),
    "high": ("upper bound", "верхняя граница"),
    "std": ("std", "ст. откл."),
    "min": ("min", "мин."),
    "max": ("max", "макс."),
    "n": ("n", "n"),
    "missing": ("missing", "нет входа"),
    "undefined": ("undefined", "не определено"),
    "unread": ("unread", "не прочитано"),
    "error": ("failed", "сбой"),
    "spread": ("spread", "форма"),
    "reading": ("reading", "чтение"),
    "good": ("good", "хорошо"),
    "acceptable": ("acceptable", "приемлемо"),
    "middling": ("middling", "средне"),
    "poor": ("poor", "плохо"),
    "better": ("better", "лучше"),
    "higher": ("↑ higher", "↑ выше"),
    "lower": ("↓ lower", "↓ ниже"),
    "figures": ("Figures of the whole table", "Показатели всей таблицы"),
    "figure": ("figure", "показатель"),
    "value": ("value", "значение"),
    "statistic": ("statistic", "статистика"),
    "notes": ("Notes", "Замечания"),
    "score_notes": ("Notes on the scores", "Замечания к оценкам"),
    "readings_note": (
        "Readings follow published thresholds and are rough guides; a metric without thresholds has none. Means are of "
        "the rows with a score; the columns beside them count the rows without one.",
        "Чтения следуют опубликованным порогам и лишь приблизительны; у метрики без порогов чтения нет. Средние взяты "
        "по строкам с оценкой; столбцы рядом показывают, сколько строк её не имеют.",
    ),
    "histograms": ("Histograms of all rows", "Гистограммы по всем строкам"),
    "histograms_note": (
        "Over every row, missing scores left out; of several systems the share of rows in each bin.",
        "По всем строкам; отсутствующие оценки не входят; у нескольких систем — доля строк в каждом столбце.",
    ),
    "correlations": ("Which metrics go together", "Какие метрики согласны"),
    "correlations_note": (
        "Spearman's rank correlations. Blue, above 0: the two are good in the same rows; orange, below 0: one is good "
        "where the other is bad; the sign of metrics marked (−), where lower is better, is turned for that. Crossed "
        "out: a metric does not vary.",
        "Ранговые корреляции Спирмена. Синее, больше 0: обе хороши в одних и тех же строках; оранжевое, меньше 0: одна "
        "хороша там, где другая плоха; для этого у метрик с (−), где меньше — лучше, знак обращён. Перечёркнуто: "
        "метрика не меняется.",
    ),
    "no_value": ("not defined", "не определено"),
    "segments": ("Segments", "Сегменты"),
    "segment": ("segment", "сегмент"),
    "segments_changes": (
        "Differences from the baseline; bold and in full colour where they are more than chance, pale where they may "
        "be chance: a larger one may be, where fewer rows or rows that vary more are behind it. Blue is better, orange "
        "worse, on one scale for metrics with the same bounds; metrics without a direction have no colour. Metrics "
        "with a verdict come first. A cell opens its rows.",
        "Разности с базовой системой; жирным и в полном цвете — больше случайного, бледным — возможно, случайные: и "
        "большая бывает такой, если за ней меньше строк или строки разнятся сильнее. Синее лучше, оранжевое хуже, в "
        "одном масштабе для метрик с общими границами; метрики без направления без цвета. Метрики с выводом стоят "
        "первыми. Ячейка открывает свои строки.",
    ),
    "segments_means": (
        "Means; bold and in full colour where the interval leaves out the mean of all rows, else pale. Blue is better "
        "than it, orange worse, on one scale for metrics with the same bounds; metrics without a direction have no "
        "colour. A cell opens its rows.",
        "Средние; жирным и в полном цвете — интервал не содержит среднее всех строк, иначе бледным. Синее лучше его, "
        "оранжевое хуже, в одном масштабе для метрик с общими границами; метрики без направления без цвета. Ячейка "
        "открывает свои строки.",
    ),
    "shows": ("shows", "показано"),
    "of": ("of", "из"),
    "search": ("Find in texts and ids", "Найти в текстах и id"),
    "search_lines": ("Find in ids and questions", "Найти в id и вопросах"),
    "stratum": ("Which rows", "Какие строки"),
    "from": ("score from", "оценка от"),
    "to": ("to", "до"),
    "all_rows": ("all rows", "все строки"),
    "searching": ("looking through ids and questions:", "поиск в id и вопросах:"),
    "no_files": (
        "The files of the rows are missing: keep the folder rows beside this page.",
        "Файлов строк нет: держите папку rows рядом со страницей.",
    ),
    "every_segment": ("all segments", "все сегменты"),
    "every_row": ("all that are shown", "все показанные"),
    "worst": ("worst", "худшие"),
    "best": ("best", "лучшие"),
    "median": ("median", "срединные"),
    "fell": ("fell most", "упали сильнее всего"),
    "rose": ("rose most", "выросли сильнее всего"),
    "disagree": ("disagree", "не согласны"),
    "id": ("id", "id"),
    "question": ("question", "вопрос"),
    "answer": ("answer", "ответ"),
    "reference": ("reference", "эталон"),
    "contexts": ("contexts", "контексты"),
    "retrieved_ids": ("retrieved", "найдено"),
    "relevant_ids": ("relevant", "релевантные"),
    "baseline": ("baseline", "базовая"),
    "change": ("change", "изменение"),
    "score": ("score", "оценка"),
    "scores": ("Scores", "Оценки"),
    "no_row": ("Choose a row to see its texts.", "Выберите строку, чтобы увидеть тексты."),
    "no_texts": ("No texts are known: give them with --texts.", "Тексты неизвестны: укажите их с --texts."),
    "nothing": ("No row fits.", "Нет подходящих строк."),
    "no_answer": ("no answer", "нет ответа"),
    "answer_change": ("What differs between the answers", "Чем различаются ответы"),
    "deleted": ("deleted", "удалено"),
    "inserted": ("inserted", "добавлено"),
    "same_answer": ("Both answers are the same.", "Оба ответа одинаковы."),
    "compared_with": ("compared with", "в сравнении с"),
    "no_other": ("no other system", "ни с чем"),
    "filters": ("Filters and files", "Фильтры и файлы"),
    "side_by_side": ("Answers side by side", "Ответы рядом"),
    "marks": ("Marked:", "Отмечено:"),
    "improved": ("improved", "лучше"),
    "regressed": ("regressed", "хуже"),
    "unchanged": ("unchanged", "без изменений"),
    "unscored": ("without a score", "без оценки"),
    "rose_rows": ("higher", "выше"),
    "fell_rows": ("lower", "ниже"),
    "as_csv": ("Rows as CSV", "Строки в CSV"),
    "copy_link": ("Copy link", "Скопировать ссылку"),
    "rendered": ("Markdown and JSON", "Markdown и JSON"),
    "keep_filter": ("Keep this filter", "Оставить фильтр"),
    "remove_filter": ("Remove the filter", "Убрать фильтр"),
    "kept_columns": ("Other columns", "Другие столбцы"),
    "reply": ("full reply", "весь ответ"),
    "trace": ("reasoning", "рассуждение"),
    "rating": ("Your rating", "Ваша оценка"),
    "comment": ("Your comment", "Ваш комментарий"),
    "labels_out": ("Your labels", "Ваши метки"),
    "not_kept": (
        "This browser keeps nothing for this page: download the labels before you close it.",
        "Браузер не хранит данные этой страницы: скачайте метки, прежде чем закрыть её.",
    ),
    "copied": ("Copied.", "Скопировано."),
    "downloaded": ("rows:", "строк:"),
    "supported": ("supported by the contexts", "подтверждено контекстами"),
    "unsupported": ("not in the contexts", "нет в контекстах"),
    "apart": ("in the contexts, but not near its subject", "есть в контекстах, но не рядом со своим предметом"),
    "cited_supported": (
        "citation: the context holds what the sentence says of numbers, dates and claims",
        "ссылка: числа, даты и утверждения предложения есть в контексте",
    ),
    "cited_unsupported": (
        "citation: the context lacks a number, date or claim of the sentence",
        "ссылка: числа, даты или утверждения предложения нет в контексте",
    ),
    "cited": ("citation: nothing in the sentence to check", "ссылка: в предложении нечего проверить"),
    "cited_nothing": ("citation: there is no such context", "ссылка: такого контекста нет"),
    "kind_number": ("number", "число"),
    "kind_date": ("date", "дата"),
    "kind_time": ("time", "время"),
    "kind_weekday": ("weekday", "день недели"),
    "kind_claim": ("claim", "утверждение"),
    "unsupported_anchors": ("most unsupported anchors", "больше всего неподтверждённого"),
    "same_words": (
        "in an answer: words that it shares with any of the references, in the same order",
        "в ответе: слова, общие с любым из эталонов, в том же порядке",
    ),
    "same_words_reference": (
        "in a reference: words that it shares with the answer of {system}",
        "в эталоне: слова, общие с ответом {system}",
    ),
    "checked": ("Checked against the contexts", "Проверено по контекстам"),
    "rows_keys": (
        "Equal ones stand in the order of the file; arrow keys move, a heading sorts; the address links to what you "
        "see.",
        "Равные стоят в порядке файла; стрелки двигают, заголовок сортирует; адрес ведёт к тому, что видно.",
    ),
    "order_score_worst": ("The worst come first.", "Сначала худшие."),
    "order_score_best": ("The best come first.", "Сначала лучшие."),
    "order_change_worst": ("Those that got worse most come first.", "Сначала те, что ухудшились сильнее всего."),
    "order_change_best": ("Those that improved most come first.", "Сначала те, что улучшились сильнее всего."),
    "order_lowest": ("The lowest come first.", "Сначала наименьшие."),
    "order_highest": ("The highest come first.", "Сначала наибольшие."),
    "signature": ("What the scores were made from", "Из чего получены оценки"),
    "whole_metadata": ("All metadata, as JSON", "Все метаданные в JSON"),
    "no_signature": (
        "No metadata: another tool may have made these scores.",
        "Нет метаданных: возможно, другой инструмент.",
    ),
    "sampling": ("Which rows this page holds", "Какие строки есть на странице"),
    "sampling_note": (
        "Figures, histograms and comparisons are of every row; texts are of a sample.",
        "Показатели, гистограммы и сравнения — по всем строкам; тексты — выборка.",
    ),
    "all_in_page": ("The page holds every row.", "На странице все строки."),
    "every_row_note": (
        "Figures, histograms and comparisons are of every row, and the files beside this page hold the texts of all.",
        "Показатели, гистограммы и сравнения — по всем строкам; тексты всех строк лежат в файлах рядом.",
    ),
    "interval": ("interval", "интервал"),
    "interval_of": ("{percent} % interval", "интервал {percent} %"),
    "alone": ("alone: {word}", "отдельно: {word}"),
    "alone_key": (
        "“{word}”: the {percent} % interval of this difference leaves out 0, but verdicts count all comparisons made "
        "together, among which such a difference may be chance",
        "«{word}»: интервал {percent} % этого различия не содержит 0, но вывод учитывает все сравнения, сделанные "
        "вместе, а среди них такое различие бывает и случайным",
    ),
    "by_p": ("by p", "по p"),
    "by_p_key": (
        "“{word}”: the test finds a difference that its interval, computed in another way, does not tell from 0",
        "«{word}»: тест находит различие, которое интервал, вычисленный иначе, не отличает от 0",
    ),
    "least_p_key": (
        "≤: none of {n} resamples is as far apart, so p may be smaller",
        "≤: ни одна из перестановок ({n}) не даёт такого различия, и p может быть меньше",
    ),
    "verdict": ("verdict", "вывод"),
    "verdict_better": ("better", "лучше"),
    "verdict_worse": ("worse", "хуже"),
    "verdict_higher": ("higher", "выше"),
    "verdict_lower": ("lower", "ниже"),
    "verdict_undecided": ("undecided", "без вывода"),
    "verdict_equal": ("equal in every row", "одинаково в каждой строке"),
    "only_baseline": ("only baseline", "только базовая"),
    "only_other": ("only other", "только другая"),
    "won": ("won / tied / lost", "лучше / равно / хуже"),
    "common_rows": (
        "Means over the {n} rows of which all systems have a score.",
        "Средние по строкам, у которых есть оценки всех систем: {n}.",
    ),
    "letters": ("Rankings", "Порядок систем"),
    "letters_note": (
        "Systems with a common letter have no verdict against each other; bold: the best, and those with no verdict "
        "against it.",
        "Между системами с общей буквой нет вывода; жирным — лучшая и те, о которых нет вывода против неё.",
    ),
    "where": ("Where it changed", "Где изменилось"),
    "where_note": (
        "Shows {n} of {of}, of each pair of systems alike: differences from {baseline} first, losses before gains, "
        "then by Δ divided by half the width of its interval, the largest first.",
        "Показано {n} из {of}, поровну от каждой пары систем: сначала отличия от {baseline}, потери прежде улучшений, "
        "затем по Δ, делённой на половину ширины её интервала, сначала самые большие.",
    ),
    "nearest": ("Where it may have changed", "Где могло измениться"),
    "nearest_note": (
        "No segment has a verdict; these are the nearest to one.",
        "Ни у одного сегмента нет вывода; эти к нему ближе всего.",
    ),
    "nearest_shifted": (
        "No segment is better or worse; {n} difference of metrics without a direction is beyond chance. These are the "
        "nearest to a verdict.|"
        "No segment is better or worse; {n} differences of metrics without a direction are beyond chance. These are "
        "the nearest to a verdict.",
        "Ни один сегмент не лучше и не хуже; сверх случайного {n} различие метрик без направления. Эти ближе всего к "
        "выводу.|"
        "Ни один сегмент не лучше и не хуже; сверх случайного {n} различия метрик без направления. Эти ближе всего к "
        "выводу.|"
        "Ни один сегмент не лучше и не хуже; сверх случайного {n} различий метрик без направления. Эти ближе всего к "
        "выводу.",
    ),
    "nearest_rows": ("A metric's name opens its rows.", "Имя метрики открывает её строки."),
    "reversible": (
        "{n} of the verdicts better or worse has the sign ‡: rows that only one of its systems has a score of could "
        "reverse its Δ.|"
        "{n} of the verdicts better or worse have the sign ‡: rows that only one of their systems has a score of could "
        "reverse their Δ.",
        "Знак ‡ имеет {n} вывод «лучше» или «хуже»: строки с оценкой лишь одной из двух систем могли бы обратить Δ.|"
        "Знак ‡ имеют {n} вывода «лучше» или «хуже»: строки с оценкой лишь одной из двух систем могли бы обратить Δ.|"
        "Знак ‡ имеют {n} выводов «лучше» или «хуже»: строки с оценкой лишь одной из двух систем могли бы обратить Δ.",
    ),
    "reversible_key": (
        "‡: some rows have a score of one of the two systems only and count neither for Δ nor for the verdict; "
        "depending on their missing scores, Δ could have the other sign",
        "‡: у части строк есть оценка лишь одной из двух систем, и они не входят ни в Δ, ни в вывод; при некоторых "
        "недостающих оценках знак Δ был бы обратным",
    ),
    "tests_note": (
        "fisher: the signs of the rows' differences are drawn at random, p is the share of draws with as large a Δ; "
        "t: the paired t-test; detectable: the difference that so many rows would show in 80 % of cases",
        "fisher: знаки различий строк выбираются случайно, и p — доля случаев со столь же большой Δ; t: парный t-тест; "
        "обнаружимое различие: то, которое столько строк показали бы в 80 % случаев",
    ),
    "p_title": (
        "how often a difference as large would come by chance, corrected for all comparisons of the report",
        "как часто столь большое различие возникало бы случайно, с поправкой на все сравнения отчёта",
    ),
    "paired_title": ("rows with a score of both systems", "строки с оценкой обеих систем"),
    "d_z_title": (
        "the mean difference divided by the standard deviation of the differences",
        "среднее различие, делённое на стандартное отклонение различий",
    ),
    "badge_title": (
        "by published thresholds of this metric: good, acceptable, middling (between good and poor) or poor; a rough "
        "guide",
        "по опубликованным порогам метрики: хорошо, приемлемо, средне (между хорошо и плохо) или плохо; лишь "
        "приблизительно",
    ),
    "limit_correction": (
        "no difference can have a verdict: with {n} resamples and {family} comparisons the least corrected p is {p}; "
        "compare fewer metrics, segments or systems",
        "ни одно различие не может получить вывод: перестановок {n}, сравнений {family}, и наименьшее исправленное p "
        "равно {p}; сравнивайте меньше метрик, сегментов или систем",
    ),
    "limit_rows": (
        "differences over fewer than {n} rows cannot have a verdict: their p, corrected for {family} comparisons, is "
        "above {p} even if all rows change alike",
        "различия, у которых строк меньше {n}, не могут получить вывод: сравнений {family}, и p с поправкой на них "
        "выше {p}, даже если все строки изменились одинаково",
    ),
    "limit_no_rows": ("a run has no rows: nothing to compare", "в запуске нет строк: сравнивать нечего"),
    "made_by": ("Made by fastmetrics", "Сделано fastmetrics"),
}

HEADINGS: Mapping[str, str] = {
    "accuracy": "доля верных",
    "label": "метка",
    "expected": "ожидалось",
    "predicted": "предсказано",
    "interval": "интервал",
    "most frequent errors": "самые частые ошибки",
    "share of expected": "доля ожидавших",
    "figure": "показатель",
    "value": "значение",
    "of": "из",
    "rows": "строк",
    "scored": "с оценкой",
    "mean": "среднее",
    "error rate": "доля сбоев",
    "consistency": "постоянство",
    "P50 ms": "P50, мс",
    "chunk": "фрагмент",
    "chunks": "фрагментов",
    "retrieved": "найдено",
    "cited": "процитировано",
    "relevant": "релевантно",
    "mean_rank": "среднее место",
    "topic": "тема",
    "questions": "вопросов",
    "sources": "источников",
    "abstain": "отказов",
    "unanswered": "без ответа",
    "words": "слова",
    "times": "раз",
    "scripts": "письменности",
    "languages": "языки",
    "ratings": "оценки",
    "indicators": "слова-признаки",
    "run": "запуск",
    "judge": "судья",
    "segment": "сегмент",
    "sessions": "сеансов",
    "missing": "без данных",
    "short": "короче",
    "places": "мест",
    "share": "доля",
    "hubs": "частых",
    "stored": "сохранено",
    "tau": "порог τ",
    "single": "из одного вопроса",
    "pairs": "пар",
    "answered": "с ответом",
    "distinct": "разных",
    "repeated": "повторённых",
    "first": "первый",
    "second": "второй",
    "both": "оба",
    "neither": "ни один",
    "paired": "парный анализ",
    "figures": "показатели",
    "abstained": "отказы",
    "last": "последний",
    "failures": "неудач",
    "for example": "например",
    "gap: topic": "пробел: тема",
    "against people": "против людей",
    "agreement": "согласие",
    "95 % intervals": "интервалы 95 %",
    "low": "нижняя граница",
    "high": "верхняя граница",
    "plain": "по меткам",
    "powered": "с судьёй",
    "mean label": "средняя метка",
    "precision": "точность класса",
    "recall": "полнота",
    "kappa": "каппа",
    "quadratic kappa": "квадратичная каппа",
}
"""The Russian headings of tables that the terminal shows too, and the names of figures that are words."""

LANGUAGES = ("en", "ru")


def labels(language: str, sections: Sequence[Section] = ()) -> Mapping[str, str]:
    """The words of a report and of its sections in a language, by their keys.

    Raises ``ValueError`` for a section with a key that has other words already.
    """
    place = LANGUAGES.index(language)
    words = dict(_WORDS)
    for section in sections:
        if twice := sorted(words.keys() & section.labels.keys()):
            raise ValueError(f"section {section.name}: labels exist already: {', '.join(twice)}")
        words |= section.labels
    return {key: translated[place] for key, translated in words.items()}


def headed(grid: Grid, language: str) -> Grid:
    """The table with its headings and figures in this language, and with the names of figures that are words.

    >>> headed(Grid(("figure", "bm25"), [("rows", "9")]), "ru")
    Grid(header=('показатель', 'bm25'), rows=(('строк', '9'),), label_columns=1)
    """
    if language == "en":
        return grid
    rows = written(grid, language).rows
    if grid.header[:1] == ("figure",):
        rows = [(HEADINGS.get(name, name), *cells) for name, *cells in rows]
    return replace(grid, header=[HEADINGS.get(head, head) for head in grid.header], rows=rows)


def written(grid: Grid, language: str) -> Grid:
    """The table with its figures as the language writes them; its headings may be names of systems."""
    rows = [
        (name, *(figures(cell, language) if _CELL.fullmatch(cell) else cell for cell in cells))
        for name, *cells in grid.rows
    ]
    return replace(grid, rows=rows)


_FIGURE = re.compile(r"(?<![\w.,])\d+(?:,\d{3})*(?:\.\d+)?(?!\w*[.,]?\d)")
_INTERVAL = re.compile(r"\[([^][]+?), ([^][]+)\]")
_CELL = re.compile(r"[\d\s.,e%*†‡≤<±–−+/()[\]→-]*")


def figures(text: str, language: str) -> str:
    """A text of ours with its figures as the language writes them: in Russian a decimal comma and spaces by thousands.

    >>> figures("1,234.5, [-0.2500, 10,000]*", "ru").replace("\xa0", " "), figures("0.5", "en")
    ('1 234,5, [-0,2500; 10 000]*', '0.5')
    """
    if language == "en":
        return text
    apart = _INTERVAL.sub(r"[\1; \2]", text)
    return _FIGURE.sub(lambda found: found[0].replace(",", "\xa0").replace(".", ","), apart)


def plural_form(forms: str, number: int, language: str) -> str:
    """The form for a number among those that ``|`` divides: two in English, three in Russian.

    >>> [plural_form("row|rows", n, "en") for n in (0, 1, 2)]
    ['rows', 'row', 'rows']
    >>> [plural_form("строка|строки|строк", n, "ru") for n in (1, 3, 11, 14, 25, 121)]
    ['строка', 'строки', 'строк', 'строк', 'строк', 'строка']
    """
    of_one, *others = forms.split("|")
    if language == "en":
        return of_one if number == 1 else others[-1]
    units = number % 10 if number % 100 // 10 != 1 else 0
    return of_one if units == 1 else others[0] if 2 <= units <= 4 else others[-1]
