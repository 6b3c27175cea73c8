// Opens the data and the script of the page, which are deflated (RFC 1951) to keep it small.  The browser's own
// DecompressionStream would open them after the page is loaded: too late for a program that prints the page then.
function inflated(bytes, size) {
  const out = new Uint8Array(size);
  let written = 0, read = 16; // bits, from behind the two bytes of zlib

  const bits = (many) => {
    let value = 0;
    for (let at = 0; at < many; at++, read++) value |= ((bytes[read >> 3] >> (read & 7)) & 1) << at;
    return value;
  };

  // A code of symbols: how many have each number of bits, and the symbols in the order of their codes.
  const codeOf = (lengths) => {
    const counts = Array(16).fill(0);
    for (const long of lengths) counts[long]++;
    counts[0] = 0;
    const used = [...lengths.keys()].filter((symbol) => lengths[symbol]);
    return { counts, symbols: used.sort((a, b) => lengths[a] - lengths[b] || a - b) };
  };

  const next = ({ counts, symbols }) => {
    for (let code = 0, first = 0, before = 0, long = 1; ; long++) {
      code = (code << 1) | bits(1);
      first <<= 1;
      if (code - first < counts[long]) return symbols[before + code - first];
      first += counts[long];
      before += counts[long];
    }
  };

  // Symbols that stand for a number and some bits more: of lengths from 3 on, of distances from 1 on.
  const ranges = (first, many, group) => {
    return Array.from({ length: many }, (_, at) => {
      const more = Math.max(0, Math.floor(at / group) - 1), start = first;
      first += 1 << more;
      return [start, more];
    });
  };
  const lengths = [...ranges(3, 28, 4), [258, 0]], distances = ranges(1, 30, 2);
  const number = ([start, more]) => start + bits(more);

  const fixed = () => [codeOf([144, 112, 24, 8].flatMap((many, at) => Array(many).fill([8, 9, 7, 8][at]))), codeOf(Array(30).fill(5))];
  const own = () => {
    const split = bits(5) + 257, all = split + bits(5) + 1, given = bits(4) + 4, small = Array(19).fill(0), found = [];
    for (const place of [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15].slice(0, given)) small[place] = bits(3);
    for (const code = codeOf(small); found.length < all; ) {
      const symbol = next(code);
      // 16 repeats the last length, 17 and 18 stand for many zeros
      const many = symbol < 16 ? 1 : symbol < 18 ? 3 + bits(symbol - 14) : 11 + bits(7);
      found.push(...Array(many).fill(symbol < 16 ? symbol : symbol === 16 ? found.at(-1) : 0));
    }
    return [codeOf(found.slice(0, split)), codeOf(found.slice(split))];
  };

  for (let last = 0; !last; ) {
    last = bits(1);
    const kind = bits(2);
    if (kind === 0) {
      read = (read + 7) & ~7;
      for (let left = bits(16), skipped = bits(16); left; left--) out[written++] = bits(8);
      continue;
    }
    const [literals, far] = kind === 1 ? fixed() : own();
    for (let symbol = next(literals); symbol !== 256; symbol = next(literals)) {
      if (symbol < 256) out[written++] = symbol;
      else {
        const stop = written + number(lengths[symbol - 257]), back = number(distances[next(far)]);
        for (; written < stop; written++) out[written] = out[written - back];
      }
    }
  }
  return out;
}

const packed = document.getElementById("report-data");
const packedBytes = Uint8Array.from(atob(packed.textContent), (sign) => sign.charCodeAt(0));
const data = JSON.parse(new TextDecoder().decode(inflated(packedBytes, Number(packed.dataset.size))));
document.head.append(Object.assign(document.createElement("script"), { textContent: data.script }));
