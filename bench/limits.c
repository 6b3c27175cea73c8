// Plain loops over the bytes of texts, compiled with -O3: what reading, cutting and numbering words takes at the least.

#include <stdint.h>
#include <string.h>

// How many bytes are spaces: the least that looks at each byte.
int64_t count_gaps(const uint8_t *data, int64_t n) {
    int64_t count = 0;
    for (int64_t p = 0; p < n; p++) count += data[p] == 0x20;
    return count;
}

// The start and the end of each word, cut at spaces, byte by byte; returns how many there are of both.
int64_t cut_words(const uint8_t *data, int64_t n, uint32_t *edges) {
    int64_t e = 0;
    uint8_t before = 0x20;
    for (int64_t p = 0; p < n; p++) {
        edges[e] = (uint32_t)p;
        e += (data[p] == 0x20) != (before == 0x20);
        before = data[p];
    }
    edges[e] = (uint32_t)n;
    return e + (before != 0x20);
}

// The number of each word, cut at spaces and lower-cased if it is ASCII; words of equal hashes count as equal.
// slots has a hash and a number each; mask is one less than their number.  Returns the number of words.
int64_t number_words(const uint8_t *data, int64_t n, uint64_t *slots, uint64_t mask, int32_t *ids) {
    int64_t k = 0;
    uint64_t distinct = 0;
    for (int64_t p = 0; p < n;) {
        while (p < n && data[p] == 0x20) p++;
        if (p == n) break;
        uint64_t key = 0xCBF29CE484222325u;
        for (; p < n && data[p] != 0x20; p++) {
            uint64_t byte = data[p];
            byte |= (uint64_t)(byte - 0x41 < 26) << 5;
            key = (key ^ byte) * 0x100000001B3u;
        }
        uint64_t h = key >> 32 & mask;
        while (slots[2 * h] && slots[2 * h] != key) h = (h + 1) & mask;
        if (!slots[2 * h]) {
            slots[2 * h] = key;
            slots[2 * h + 1] = distinct++;
        }
        ids[k++] = (int32_t)slots[2 * h + 1];
    }
    return k;
}

// A copy: each byte read and written once.
int64_t copy_bytes(const uint8_t *data, int64_t n, uint8_t *out) {
    memcpy(out, data, n);
    return n;
}
