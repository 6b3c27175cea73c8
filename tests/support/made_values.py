"""Numbers, dates and times in every format and near to one, made by rule: what a value's reader must tell apart."""

from itertools import product

SIGNS = "$€£¥₽₹"

NUMBERS = [
    *("-5", "−5", "–5", "—5", "minus 5", "минус пять", "10 minus 5", "5-7", "$5-$7", "5%-7%", "-$5", "$-5", "-5.5%"),
    *("5 -7", "5 - 7", "--5", "-.5", ".5", "$.50", "0.5", "..5", "½", "1½", "1 ½", "2⅓", "5/2", "1.234,56", "1,234.56"),
    *("1.234", "12,34,567", "1,00,000", "1,23,45", "1,23,45,678.5", "12.0", "-12.0", "=-3", "US$-4", "minus $5"),
    *("minus €.5", "minus ~$5", "minus, $5", "minus -$5", "minus$ 5", "negative five", "-five", "−½", "**-5%**"),
    *('"-5"', "a:-5", "1,-5", "|-5|", "{-5}", "a'-5'"),
    *("0", "1", "5", "10", "12", "31", "49", "50", "99", "100", "999", "1000", "2024", "0.5", "0,5", "3.25", "07"),
    *("1,000", "1 000", "1'000", "1’000", "1.000", "1.000.000", "1,000,000", "1 000.5", "1,00", "1,0000", "0,000"),
    *("1234,567", "12,345,67", "1.000,5", "1.000 000", "9,999,999,999,999", "99,999,999,999,999,999", "1 000k"),
    *("123456789012345", "1234567890123456", "12345678901234.5", "123456789012345.5", "1_000", "5x", "5xyzzy", "5-6"),
    *("1/2", "3/4", "1/0", "0.5/2", "1k/2", "5km", "5KM", "2nd", "1st", "٣", "1٣", "5é"),
    *("half", "one", "first", "second", "third", "zero", "twenty-one", "twenty one", "twenty ten", "twenty-zero"),
    *("ninety-nine", "twelve", "hundred", "a quarter", "three quarters", "two-thirds", "two, thirds", "quarter"),
    *("one hundred", "one, hundred", "twenty half", "eleven one", "thirty first", "two and half", "fourty-two"),
]
SCALED = [
    f"{number}{gap}{scale}"
    for number, gap, scale in [
        *product(["2", "2.5", "1,000"], [""], ["k", "K", "m", "mn", "mln", "b", "bn", "bln", "t", "kk", "bnx"]),
        *product(["2", "two"], [" ", "-", ". ", ".", ", "], ["hundred", "thousand", "млн", "billion"]),
    ]
] + ["2 thousand billion", "2 trillion trillion", "2k thousand", "2 billion billion billion", "2.5e6"]
SHARES = [
    f"{number}{gap}{sign}"
    for number, (gap, sign) in product(
        ["50", "0.5", "fifty"],
        [
            *product(["", " ", ", ", "-"], ["%", "percent"]),
            (" ", "per cent"),
            (" ", "per, cent"),
            (" ", "per"),
            ("%", "%"),
        ],
    )
] + ["50 (%)", "50 cent", "50%, percent", "50 % 60"]
MONEY = [
    *[f"{sign}5" for sign in SIGNS],
    *[f"5{gap}{sign}" for sign in SIGNS for gap in ("", " ")],
    *[f"5 {word}" for word in ("dollars", "euro", "pounds", "yen", "rubles", "руб", "rupees", "usd")],
    *("$ 5", "US$5", "a$5", "$5 €", "€$5", "5 $ 6", "5$ 6", "5 $6", "5-dollar", "5, dollars", "$5 million"),
    "5 million dollars",
]
DAYS = [
    *("5 January 2024", "5th January 2024", "5 of January 2024", "5th of January, 2024", "January 5, 2024"),
    "Jan. 5th 2024",
    *("January 2024", "January, 2024", "January", "5 January", "January 5", "5 January 0999", "5 January 999"),
    "5 January 20245",
    *("5 января 2024", "32 January 2024", "31 January", "0 January", "January 31st", "January 32", "5st May"),
    "5xy May",
    *("may", "May", "March", "march", "May 5", "may 5", "5 may", "august 2020", "Май", "мая", "5 January! 2024"),
    "5! January",
    *("5 January\n2024", "January [5]", "[5] January", "5% January", "January 5% 2024", "5 of of May", "5 of"),
    "January 5 6",
    *("January (5) 2024", "005 January", "5 January 2024.5", "January 2024 5"),
]
DIGIT_DATES = [
    *(
        f"{x}{mark}{y}{mark}{z}"
        for x, y, z in [("2024", "01", "05"), ("5", "1", "2024"), ("1", "5", "24")]
        for mark in "-/.–:"
    ),
    *("13.1.2024", "1.13.2024", "13/1/2024", "1/13/2024", "13/13/2024", "32/1/2024", "1/32/2024", "0/1/2024"),
    "1/0/2024",
    *("5/5/2024", "5/5/49", "5/5/50", "5/5/00", "5/5/99", "5.5.49", "5.5.50", "5/5/5", "5/5/555", "555/5/2024"),
    "5/005/2024",
    *("2024-13-01", "2024-12-31", "2024-12-32", "2024-00-01", "2024-1-001", "2024-01.05", "2024-1", "24-01-05"),
    "0999-01-05",
]
TIMES = [
    *(
        f"{hour}{minute}{half}"
        for hour in (0, 1, 11, 12, 13, 23, 24)
        for minute in ("", ":30")
        for half in ("", " am", " pm")
    ),
    *("3am", "3pm", "3PM", "12am", "12pm", "3:30pm", "3 a.m.", "3 p.m.", "3 P.M.", "3 b.m.", "3 p.x.", "3 p m"),
    *("3 p", "3pmx"),
    *("15:00", "3:00", "3:59", "3:60", "3:5", "3:005", "15:00:20", "3:00:20 pm", "3:00:2", "3:00:20pm", "003:00"),
    "3:0o",
    *("3 утра", "3 дня", "3 ночи", "3-pm", "3, pm", "3:30:15:20", "12:00", "0:00", "00:30", "12:30 am", "123 pm"),
    "3k pm",
]
WEEKDAYS = ["Monday", "monday", "понедельник", "Sunday", "Tuesday", "воскресенье", "Mondays"]
LISTED = [
    *("[5]", "5]", "[5", "[5, 6]", "(5)", "5)", "5.", "5. ", "12) x", "123. x", "1. 5", "x 5. y", "x\n5. y"),
    *("x\n5) y", "\n5.y", "x.\n5 y"),
]

VALUES = [*NUMBERS, *SCALED, *SHARES, *MONEY, *DAYS, *DIGIT_DATES, *TIMES, *WEEKDAYS, *LISTED]
