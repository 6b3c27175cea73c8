// The order of numbers: by their bits, sixteen at a time, so that a million take some tens of milliseconds.

function upTo(many) {
  const made = new Uint32Array(many);
  for (let at = 0; at < many; at++) made[at] = at;
  return made;
}

// The places of the numbers in order, equal ones as they stood, those without a value last.
function sortedPlaces(values, places, down) {
  const known = places.filter((place) => !Number.isNaN(values[place]));
  const keys = [0, 1].map(() => new Uint32Array(known.length));
  const view = new Float64Array(1), bits = new Uint32Array(view.buffer);
  for (let at = 0; at < known.length; at++) {
    view[0] = values[known[at]] + 0;
    const negative = bits[1] >>> 31;
    keys[0][at] = negative ? ~bits[0] : bits[0];
    keys[1][at] = negative ? ~bits[1] : bits[1] | 0x80000000;
    if (down) {
      keys[0][at] = ~keys[0][at];
      keys[1][at] = ~keys[1][at];
    }
  }
  let order = upTo(known.length);
  for (const key of keys) for (const shift of [0, 16]) order = bySixteenBits(order, key, shift);
  const made = new Uint32Array(places.length);
  for (let at = 0; at < order.length; at++) made[at] = known[order[at]];
  if (known.length < places.length) made.set(places.filter((place) => Number.isNaN(values[place])), known.length);
  return made;
}

function bySixteenBits(order, key, shift) {
  const starts = new Uint32Array(65537);
  for (let at = 0; at < key.length; at++) starts[((key[at] >>> shift) & 65535) + 1]++;
  if (key.length && starts[((key[0] >>> shift) & 65535) + 1] === key.length) return order;
  for (let at = 0; at < 65536; at++) starts[at + 1] += starts[at];
  const made = new Uint32Array(order.length);
  for (const place of order) made[starts[(key[place] >>> shift) & 65535]++] = place;
  return made;
}
