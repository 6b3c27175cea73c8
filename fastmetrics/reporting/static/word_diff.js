// Which words of two texts are common to both, in order: the longest common subsequence of their words.
const MOST_WORDS = 800;

const wordsOf = (text) => text.match(/[\p{L}\p{N}]+|[^\p{L}\p{N}]+/gu) ?? [];
const isWord = (piece) => /[\p{L}\p{N}]/u.test(piece);

// The places of a longest common subsequence in two lists of pieces.
function commonPlaces(a, b) {
  const wide = b.length + 1;
  const lengths = new Uint16Array((a.length + 1) * wide);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      lengths[i * wide + j] = a[i] === b[j] ? lengths[(i + 1) * wide + j + 1] + 1 : Math.max(lengths[(i + 1) * wide + j], lengths[i * wide + j + 1]);
    }
  }
  const pairs = [];
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    if (a[i] === b[j]) pairs.push([i++, j++]);
    else if (lengths[(i + 1) * wide + j] >= lengths[i * wide + j + 1]) i++;
    else j++;
  }
  return pairs;
}

// The words of the first pieces that the second ones have too, in order.
function commonWords(first, second) {
  const places = (pieces) => pieces.flatMap((piece, at) => (isWord(piece) ? [at] : [])).slice(0, MOST_WORDS);
  const lower = (pieces, some) => some.map((at) => pieces[at].toLowerCase());
  const a = places(first), b = places(second);
  return new Set(commonPlaces(lower(first, a), lower(second, b)).map(([i]) => a[i]));
}

// What was deleted from one text and inserted to make another, as [kind, text] in order; kind is same, del or ins.
function wordChanges(before, after) {
  const a = wordsOf(before), b = wordsOf(after);
  let start = 0, end = 0;
  while (start < Math.min(a.length, b.length) && a[start] === b[start]) start++;
  while (end < Math.min(a.length, b.length) - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  const inner = [a, b].map((pieces) => pieces.slice(start, pieces.length - end));
  const pairs = inner.some((pieces) => pieces.length > 2 * MOST_WORDS) ? [] : commonPlaces(...inner);
  const parts = [["same", a.slice(0, start).join("")]];
  let i = 0, j = 0;
  for (const [x, y] of [...pairs, [inner[0].length, inner[1].length]]) {
    parts.push(["del", inner[0].slice(i, x).join("")], ["ins", inner[1].slice(j, y).join("")], ["same", inner[0][x] ?? ""]);
    [i, j] = [x + 1, y + 1];
  }
  parts.push(["same", a.slice(a.length - end).join("")]);
  return joinedParts(parts);
}

// Neighbours of one kind as one part; a gap between two changes belongs to both of them.
function joinedParts(parts) {
  const joined = [];
  for (const [kind, text] of parts) {
    if (!text) continue;
    if (joined.at(-1)?.[0] === kind) joined.at(-1)[1] += text;
    else joined.push([kind, text]);
  }
  return joined;
}

function changedText(before, after) {
  const tags = { same: "span", del: "del", ins: "ins" };
  return element("p", { class: "text", dir: "auto" }, ...wordChanges(before, after).map(([kind, text]) => element(tags[kind], {}, text)));
}

// A text beside others: the words that it has in common with any of them, in its order, are marked.
function marked(text, others) {
  const pieces = wordsOf(text);
  const common = new Set(others.flatMap((other) => [...commonWords(pieces, wordsOf(other))]));
  const parts = pieces.map((piece, at) => (common.has(at) ? element("mark", {}, piece) : piece));
  return element("p", { class: "text", dir: "auto" }, ...parts);
}

// A text with its anchors and citations marked by whether the contexts support them; places count characters.  A claim
// may contain numbers, citations and other claims: each piece of the text has the mark of the shortest of them.
function anchored(text, anchors, cites) {
  const paragraph = element("p", { class: "text", dir: "auto" });
  const characters = Array.from(text);
  const marks = anchors.map(([start, stop, supported, kind, apart]) => {
    const name = supported ? "supported" : apart ? "apart" : "unsupported";
    return { start, stop, name, title: `${words[`kind_${kind}`] ?? kind}: ${words[name]}` };
  });
  for (const [start, stop] of cites) {
    const group = cites.filter((cite) => cite[0] === start);
    const worst = ["cited_nothing", "cited_unsupported", "cited", "cited_supported"].find((state) => group.some((cite) => cite[3] === state));
    marks.push({ start, stop, name: `cite ${worst}`, title: group.map(([, , number, state]) => `[${number}] ${words[state]}`).join("; ") });
  }
  marks.sort((a, b) => a.stop - a.start - (b.stop - b.start));
  const edges = [...new Set([0, characters.length, ...marks.flatMap(({ start, stop }) => [start, stop])])].sort((a, b) => a - b);
  edges.slice(1).forEach((stop, at) => {
    const piece = characters.slice(edges[at], stop).join("");
    const mark = marks.find((mark) => mark.start <= edges[at] && stop <= mark.stop);
    if (piece) paragraph.append(mark ? element("mark", { class: mark.name, title: mark.title }, piece) : piece);
  });
  return paragraph;
}
