// The order of numbers: by their bits, sixteen at a time, so that a million take some tens of milliseconds.

function upTo(many) {
  const numbers = new Uint32Array(many);
  for (let at = 0; at < many; at++) numbers[at] = at;
  return numbers;
}

// The places of the numbers in order, equal ones as they stood, those without a value last.
function sortedPlaces(values, places, down) {
  const scored = places.filter((place) => !Number.isNaN(values[place]));
  const keys = [0, 1].map(() => new Uint32Array(scored.length));
  const view = new Float64Array(1), bits = new Uint32Array(view.buffer);
  for (let at = 0; at < scored.length; at++) {
    view[0] = values[scored[at]] + 0;
    const negative = bits[1] >>> 31;
    keys[0][at] = negative ? ~bits[0] : bits[0];
    keys[1][at] = negative ? ~bits[1] : bits[1] | 0x80000000;
    if (down) {
      keys[0][at] = ~keys[0][at];
      keys[1][at] = ~keys[1][at];
    }
  }
  let order = upTo(scored.length);
  for (const key of keys) for (const shift of [0, 16]) order = bySixteenBits(order, key, shift);
  const sorted = new Uint32Array(places.length);
  for (let at = 0; at < order.length; at++) sorted[at] = scored[order[at]];
  if (scored.length < places.length) sorted.set(places.filter((place) => Number.isNaN(values[place])), scored.length);
  return sorted;
}

function bySixteenBits(order, key, shift) {
  const starts = new Uint32Array(65537);
  for (let at = 0; at < key.length; at++) starts[((key[at] >>> shift) & 65535) + 1]++;
  if (key.length && starts[((key[0] >>> shift) & 65535) + 1] === key.length) return order;
  for (let at = 0; at < 65536; at++) starts[at + 1] += starts[at];
  const sorted = new Uint32Array(order.length);
  for (const place of order) sorted[starts[(key[place] >>> shift) & 65535]++] = place;
  return sorted;
}
