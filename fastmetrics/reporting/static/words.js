// Which words of two texts are common to both, in order: the longest common subsequence of their words.
const MOST_WORDS = 800;

const wordsOf = (text) => text.match(/[\p{L}\p{N}]+|[^\p{L}\p{N}]+/gu) ?? [];
const isWord = (piece) => /[\p{L}\p{N}]/u.test(piece);

function commonWords(first, second) {
  const places = (pieces) => pieces.flatMap((piece, at) => (isWord(piece) ? [at] : [])).slice(0, MOST_WORDS);
  const a = places(first), b = places(second);
  const same = (i, j) => first[a[i]].toLowerCase() === second[b[j]].toLowerCase();
  const wide = b.length + 1;
  const lengths = new Uint16Array((a.length + 1) * wide);
  for (let i = a.length - 1; i >= 0; i--) {
    for (let j = b.length - 1; j >= 0; j--) {
      lengths[i * wide + j] = same(i, j)
        ? lengths[(i + 1) * wide + j + 1] + 1
        : Math.max(lengths[(i + 1) * wide + j], lengths[i * wide + j + 1]);
    }
  }
  const shared = [new Set(), new Set()];
  for (let i = 0, j = 0; i < a.length && j < b.length; ) {
    if (same(i, j)) {
      shared[0].add(a[i++]);
      shared[1].add(b[j++]);
    } else if (lengths[(i + 1) * wide + j] >= lengths[i * wide + j + 1]) i++;
    else j++;
  }
  return shared;
}

// A text beside another: the words that both have are marked.
function marked(text, other) {
  const paragraph = element("p", { class: "text", dir: "auto" });
  if (!other) {
    paragraph.append(text);
    return paragraph;
  }
  const pieces = wordsOf(text);
  const [common] = commonWords(pieces, wordsOf(other));
  pieces.forEach((piece, at) => paragraph.append(common.has(at) ? element("mark", {}, piece) : piece));
  return paragraph;
}

// A text with its anchors and citations marked by whether the contexts support them; places count characters.  A claim
// may contain numbers, citations and other claims: each piece of the text has the mark of the shortest of them.
function anchored(text, anchors, cites) {
  const paragraph = element("p", { class: "text", dir: "auto" });
  const characters = Array.from(text);
  const marks = anchors.map(([start, stop, supported, kind]) => {
    const name = supported ? "supported" : "unsupported";
    return { start, stop, name, title: `${kind}: ${words[name]}` };
  });
  for (const [start, stop, number, state] of cites) marks.push({ start, stop, name: `cite ${state}`, title: `[${number}] ${words[state]}` });
  marks.sort((a, b) => a.stop - a.start - (b.stop - b.start));
  const edges = [...new Set([0, characters.length, ...marks.flatMap(({ start, stop }) => [start, stop])])].sort((a, b) => a - b);
  edges.slice(1).forEach((stop, at) => {
    const piece = characters.slice(edges[at], stop).join("");
    const mark = marks.find((mark) => mark.start <= edges[at] && stop <= mark.stop);
    if (piece) paragraph.append(mark ? element("mark", { class: mark.name, title: mark.title }, piece) : piece);
  });
  return paragraph;
}
