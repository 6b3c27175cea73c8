// Markdown and JSON shown as such, on request: made of elements only, with no markup of the text and no live links.
const MARKS = [
  ["code", /^`([^`\n]+)`/],
  ["strong", /^\*\*(\S(?:[^*\n]*\S)?)\*\*/],
  ["strong", /^__(\S(?:[^_\n]*\S)?)__/],
  ["em", /^\*(\S(?:[^*\n]*\S)?)\*/],
  ["del", /^~~([^~\n]+)~~/],
];
const LINK = /^!?\[([^\]\n]*)\]\(([^()\s]*)\)/;

// A line with emphasis and code as elements; an address stands beside its text, to be read rather than followed.
function inlineParts(text) {
  const parts = [];
  let plainText = "";
  for (let at = 0; at < text.length; ) {
    const ahead = "*_`~![".includes(text[at]) ? text.slice(at) : "";
    const link = ahead && ahead.match(LINK);
    const [tag, match] = (ahead && !link && MARKS.map(([tag, mark]) => [tag, ahead.match(mark)]).find(([, match]) => match)) || [];
    if (!link && !match) {
      plainText += text[at++];
      continue;
    }
    parts.push(plainText);
    plainText = "";
    if (link) parts.push(element("span", { class: "linked", title: link[2] }, link[1] || link[2]), " ", element("small", {}, link[2]));
    else parts.push(element(tag, {}, ...(tag === "code" ? [match[1]] : inlineParts(match[1]))));
    at += (link ?? match)[0].length;
  }
  return [...parts, plainText].filter((part) => part !== "");
}

const tableCells = (line) => line.trim().replace(/^\||\|$/g, "").split("|").map((cell) => cell.trim());

// The blocks of Markdown: each takes its lines from the front of the list and returns an element, or nothing.
const BLOCKS = [
  (lines) => {
    const fence = lines[0].match(/^\s*(```|~~~)/)?.[1];
    if (!fence) return null;
    lines.shift();
    const code = [];
    while (lines.length && !lines[0].trimStart().startsWith(fence)) code.push(lines.shift());
    lines.shift();
    return element("pre", { tabindex: 0 }, code.join("\n"));
  },
  (lines) => {
    const head = lines[0].match(/^(#{1,6})\s+(.*)$/);
    return head && (lines.shift(), element("p", { class: "head" }, ...inlineParts(head[2])));
  },
  (lines) => (/^\s*([-*_])(\s*\1){2,}\s*$/.test(lines[0]) ? (lines.shift(), element("hr")) : null),
  (lines) => {
    if (!lines[0].includes("|") || !/^[\s|:-]*-[\s|:-]*$/.test(lines[1] ?? "") || !lines[1].includes("|")) return null;
    const row = (tag, line) => element("tr", {}, ...tableCells(line).map((cell) => element(tag, {}, ...inlineParts(cell))));
    const head = element("thead", {}, row("th", lines.shift()));
    lines.shift();
    const body = [];
    while (lines.length && lines[0].includes("|")) body.push(row("td", lines.shift()));
    return element("div", { class: "wide", tabindex: 0 }, element("table", {}, head, element("tbody", {}, ...body)));
  },
  (lines) => {
    const item = /^\s*([-*+]|\d{1,9}[.)])\s+(.*)$/;
    const first = lines[0].match(item);
    if (!first) return null;
    const items = [];
    while (lines.length && item.test(lines[0])) items.push(element("li", {}, ...inlineParts(lines.shift().match(item)[2])));
    const start = Number.parseInt(first[1], 10);
    return Number.isNaN(start) ? element("ul", {}, ...items) : element("ol", { start }, ...items);
  },
  (lines) => {
    if (!lines[0].startsWith(">")) return null;
    const inner = [];
    while (lines.length && lines[0].startsWith(">")) inner.push(lines.shift().replace(/^>\s?/, ""));
    return element("blockquote", {}, ...inlineParts(inner.join("\n")));
  },
];

function markdown(text) {
  const lines = text.split("\n"), blocks = [];
  while (lines.length) {
    if (!lines[0].trim()) {
      lines.shift();
      continue;
    }
    let block = null;
    for (const take of BLOCKS) if ((block = take(lines))) break;
    if (!block) {
      const paragraph = [lines.shift()];
      while (lines.length && lines[0].trim() && !/^\s*(#{1,6}\s|```|~~~|>|[-*+]\s|\d{1,9}[.)]\s)/.test(lines[0])) paragraph.push(lines.shift());
      block = element("p", {}, ...inlineParts(paragraph.join("\n")));
    }
    blocks.push(block);
  }
  return blocks;
}

// A text as JSON with its lines indented, where it is an object or a list, else as Markdown.
function rendered(text) {
  if (/^\s*[[{]/.test(text)) {
    try {
      return element("pre", { class: "rendered", tabindex: 0 }, JSON.stringify(JSON.parse(text), null, 2));
    } catch {
      // not JSON: a text that begins with a bracket
    }
  }
  return element("div", { class: "text rendered", dir: "auto" }, ...markdown(text));
}
