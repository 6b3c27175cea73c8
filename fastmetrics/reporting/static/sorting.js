// The order of numbers: by the bits of their float32, eleven at a time, so that a million take some tens of milliseconds.

function upTo(many) {
  const numbers = new Uint32Array(many);
  for (let at = 0; at < many; at++) numbers[at] = at;
  return numbers;
}

// The places that a function of each and of its number keeps; of a million several times faster than filter().
function keptPlaces(places, keeps) {
  const target = new Uint32Array(places.length);
  let many = 0;
  for (let at = 0; at < places.length; at++) {
    target[many] = places[at];
    if (keeps(places[at], at)) many++;
  }
  return target.slice(0, many);
}

// The places of the numbers in order, equal ones as they stood, those without a value last.
function sortedPlaces(values, places, down) {
  const unscored = [], rounded = new Float32Array(1), bits = new Uint32Array(rounded.buffer), flip = down ? 0xffffffff : 0;
  let pairs = { keys: new Uint32Array(places.length), places: new Uint32Array(places.length) };
  let many = 0;
  for (let at = 0; at < places.length; at++) {
    const value = values[places[at]];
    if (value !== value) {
      unscored.push(places[at]);
      continue;
    }
    // −0 and 0 are equal; the bits of a float are in the order of the floats, those of negative ones turned round
    rounded[0] = value + 0;
    pairs.keys[many] = (bits[0] >>> 31 ? ~bits[0] : bits[0] | 0x80000000) ^ flip;
    pairs.places[many++] = places[at];
  }
  let other = { keys: new Uint32Array(many), places: new Uint32Array(places.length) };
  for (const shift of [0, 11, 22]) if (passElevenBits(pairs, other, many, shift)) [pairs, other] = [other, pairs];
  if (!(values instanceof Float32Array)) sortRoundedAlike(pairs, many, values, down);
  pairs.places.set(unscored, many);
  return pairs.places;
}

// Moves pairs into the order of eleven bits of their keys; false where these are the same in all keys.
function passElevenBits({ keys, places }, to, many, shift) {
  const starts = new Uint32Array(2049);
  for (let at = 0; at < many; at++) starts[((keys[at] >>> shift) & 2047) + 1]++;
  if (many === 0 || starts[((keys[0] >>> shift) & 2047) + 1] === many) return false;
  for (let at = 0; at < 2048; at++) starts[at + 1] += starts[at];
  for (let at = 0; at < many; at++) {
    const target = starts[(keys[at] >>> shift) & 2047]++;
    to.keys[target] = keys[at];
    to.places[target] = places[at];
  }
  return true;
}

// Numbers that differ, but not as float32, stand side by side: each run of those is put in order by itself.
function sortRoundedAlike({ keys, places }, many, values, down) {
  const sign = down ? -1 : 1;
  for (let start = 0, stop = 1; start < many; start = stop++) {
    let ordered = true;
    for (; stop < many && keys[stop] === keys[start]; stop++) ordered &&= sign * values[places[stop - 1]] <= sign * values[places[stop]];
    // the sort of the language is stable
    if (!ordered) places.subarray(start, stop).set(Array.from(places.subarray(start, stop)).sort((a, b) => sign * (values[a] < values[b] ? -1 : values[a] > values[b] ? 1 : 0)));
  }
}
