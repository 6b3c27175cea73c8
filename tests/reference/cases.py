"""Worked examples: those the sources print, those a formula gives by hand, and those a rule turns on."""

S4_WEATHER = "The weather is nice today. However, it might rain later. Therefore, we should bring umbrellas."
S4_STRUCTURE = (
    "Artificial intelligence is transforming industries. It enables automation and improves efficiency. "
    "In conclusion, AI will continue to shape our future."
)
S4_VOCABULARY = "The sophisticated algorithm demonstrates remarkable efficiency and effectiveness."

# (convention, text, tokens)
TOKENS = [
    ("words", "What is AI?", ["what", "is", "ai"]),
    ("ascii_words", "What is AI?", ["what", "is", "ai"]),
    ("words", "Don't stop—3.5 naïve_1", ["don", "t", "stop", "3", "5", "naïve_1"]),
    ("words", "Ответ: «ДА», 12%", ["ответ", "да", "12"]),
    ("words", "e\u0301a", ["e", "a"]),
    ("words", "ΟΔΟΣ ΟΔΟΣ.", ["οδος", "οδος"]),
    ("words", "İ \u212a \u1e9e Ⱥ", ["i", "k", "ß", "ⱥ"]),
    ("ascii_words", "Ответ: yes, naïve", ["yes", "na", "ve"]),
    ("ascii_words", "İ\u212a_9", ["i", "k_9"]),
    ("light", "«Please», (don't) … e.g. [1].", ["please", "don't", "e.g", "1"]),
    ("light", "... !!! 'a'b' x-y;", ["a'b", "x-y"]),
    ("light", "a\x1cb\x85c\u2028d\u3000e\u200bf", ["a", "b", "c", "d", "e\u200bf"]),
    ("plain", "Don't — e.g. $5.00 «да»", ["dont", "eg", "$500", "да"]),
    ("plain", "the THE The a_b", ["the", "the", "the", "ab"]),
    ("squad", "The cat, an apple and a—dog's", ["cat", "apple", "and", "—dogs"]),
    ("squad", "«a» the-end theatre An", ["«", "»", "theend", "theatre"]),
    ("split", " The\u00a0Cat sat.\n", ["the", "cat", "sat."]),
    *[
        (name, blank, [])
        for name in ("words", "ascii_words", "light", "plain", "squad", "split")
        for blank in ("", " \t\n")
    ],
]

# (text, sentences)
SENTENCES = [
    (S4_WEATHER, ["The weather is nice today", "However, it might rain later", "Therefore, we should bring umbrellas"]),
    ("Really?! Yes... 3.5", ["Really", "Yes", "3", "5"]),
    ("你好。再见！ 好吗？…", ["你好", "再见", "好吗"]),
    ("no end", ["no end"]),
    (" ... ", []),
    ("", []),
]

# (text, paragraphs)
PARAGRAPHS = [
    (S4_STRUCTURE, [S4_STRUCTURE]),
    ("one\nstill one\n\n two \n \t\n\n three", ["one\nstill one", "two", "three"]),
    ("a\r\n\r\nb", ["a", "b"]),
    ("\n\n", []),
    ("", []),
]

# (text, normalised)
NORMALIZED = [("  The\t Cat\n\nSAT ", "the cat sat"), ("\u3000A\x85\u2028b\x1f", "a b"), ("", ""), ("ΑΣ  Σ", "ας σ")]

# (metric, arguments, options, score)
SCORES = [
    ("exact_match", (" The  CAT", "the cat"), {}, 1.0),
    ("exact_match", ("the cat.", "the cat"), {}, 0.0),
    ("exact_match", ("", ["x", None, " "]), {}, 1.0),
    ("exact_match", (" The  CAT!", "«the» cat"), {"tokenizer": "plain"}, 1.0),
    ("exact_match", ("a cat", "cat"), {"tokenizer": "plain"}, 0.0),
    ("exact_match", ("cat the", "the cat"), {"tokenizer": "plain"}, 0.0),
    ("exact_match", ("?!", ["x", ""]), {"tokenizer": "plain"}, 1.0),
    ("exact_match", ("$5", "5"), {"tokenizer": "plain"}, 0.0),
    ("keyword_recall", ("Paris, of course!", "(Paris) France"), {}, 0.5),
    ("keyword_recall", ("anything", "..."), {}, 0.0),
    ("token_cosine", ("how do I pay", "how do I get paid, now"), {}, 3 / 24**0.5),
    ("token_cosine", ("", "x"), {}, 0.0),
    ("token_precision", ("a b c", "b c d e"), {}, 2 / 3),
    ("token_recall", ("a b c", "b c d e"), {}, 0.5),
    ("token_f1", ("a b c", "b c d e"), {}, 4 / 7),
    ("token_f1", ("a a a", "a a b"), {}, 2 / 3),
    ("token_f1", ("the cat", "cat"), {}, 2 / 3),
    ("token_f1", ("...", "!"), {}, 1.0),
    ("token_f1", ("", "x"), {}, 0.0),
    ("token_f1", ("x y", ["a", None, "y z"]), {}, 0.5),
    ("squad_em", ("The cat!", "cat"), {}, 1.0),
    ("squad_f1", ("the cat", "cat sat"), {}, 2 / 3),
    ("squad_f1", ("the", "a"), {}, 0.0),
    ("squad_f1", ("the", "a"), {"version": 2}, 1.0),
    ("squad_em", ("the", "a"), {"version": 1}, 1.0),
    ("squad_em", ("", ["the", "cat"]), {"version": 1}, 1.0),
    ("squad_em", ("", ["the", "cat"]), {"version": 2}, 0.0),
    ("squad_f1", ("", ["", ""]), {"version": 2}, 1.0),
    ("squad_f1", ("", []), {"version": 2}, 1.0),
    ("squad_em", ("A guess", []), {"version": 2}, 0.0),
    ("jaccard", ("What is AI?", "AI is what it is."), {}, 0.75),
    ("answer_length", ("naïve 😀",), {}, 7.0),
    ("answer_words", ("naïve 😀 don't",), {}, 3.0),
    ("answer_words", (S4_VOCABULARY,), {}, 8.0),
    ("politeness", ("PLEASE wait",), {}, 0.5),
    ("politeness", ("Thank you! I am happy to help, please.",), {}, 1.0),
    ("politeness", ("No.",), {}, 0.0),
    ("politeness", ("thanks a lot",), {"markers": ("thank", "thanks")}, 1.0),
]
