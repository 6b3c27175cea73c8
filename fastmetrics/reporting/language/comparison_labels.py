"""The words of a report for segments, signs and tests of its comparison, in each language."""

COMPARISON_WORDS = {
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
        "by published thresholds of this metric: good, middling (between good and poor) or poor; a rough guide",
        "по опубликованным порогам метрики: хорошо, средне (между хорошо и плохо) или плохо; лишь приблизительно",
    ),
}
