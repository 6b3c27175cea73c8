"""Words at the edges of how text is cut and compared: lengths around eight bytes, NULs, cases, marks."""

EDGE_TOKENS = [
    *("a" * size for size in (6, 7, 8, 9, 15, 16, 17, 24, 25, 31, 32, 33)),
    *("é" * size for size in (3, 4, 5, 8)),
    *("中" * size for size in (2, 3, 5, 6)),
    *(f"abcdefgh{tail}" for tail in ("", "i", "j", "\x00", "ijklmnop", "ijklmnoq", "ijklmnopq")),
    *(f"{'x' * 64}{tail}" for tail in ("", "y", "z", "\x00")),
    *("the", "a", "an", "The", "AN", "a.", "(the)", "the-end", "a—b", "theory", "_a", "a_", "«a»", "the's", "á"),
    "a\u0301",
    *("ΟΔΟΣ", "Σ", "ΑΣ.", "ΑΣ'Σ", "Α\u0301Σ\u0301", "ΣΑΣ", "İİ", "Ⱥ" * 4, "ẞ" * 3, "\u212a" * 3, "i\u0307"),
    *("\x00" * size for size in (1, 2, 7, 8, 9)),
    *("a" + "\x00" * size for size in (1, 6, 7, 8)),
    *("1,000", "3.5", "don't", "e-mail", "[1]", "...", "?!", "😀", "👩\u200d👩\u200d👧", "שלום", "مرحبا", "a\u200bb"),
]
