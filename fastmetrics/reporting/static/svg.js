// Pictures made of SVG elements, whose colours are those of the page: a frame with axes, and what is drawn in it.
function shape(tag, attributes = {}, ...children) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== undefined) node.setAttribute(name, typeof value === "number" ? Math.round(value * 100) / 100 : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

const hint = (text) => shape("title", {}, text);

function picture(wide, high, ...children) {
  return shape("svg", { class: "drawn", viewBox: `0 0 ${Math.round(wide)} ${Math.round(high)}`, width: "100%", "aria-hidden": "true" }, ...children);
}

const span = (values) => [values.reduce((a, b) => Math.min(a, b), Infinity), values.reduce((a, b) => Math.max(a, b), -Infinity)];

// Round numbers that part a range into about so many steps.
function ticks(low, high, many) {
  if (!(high > low)) return [low];
  const rough = (high - low) / many, unit = 10 ** Math.floor(Math.log10(rough));
  const step = unit * [1, 2, 5, 10].find((factor) => factor * unit >= rough);
  const places = [];
  for (let at = Math.ceil(low / step - 1e-9); at * step <= high + step * 1e-9; at++) places.push(Number((at * step).toPrecision(12)));
  return places;
}

// The number at a tick, without more digits than it needs.
function tickText(value) {
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e6 || size < 1e-3)) return decimal(value.toExponential(1).replace(".0e", "e"));
  return Number(value.toPrecision(6)).toLocaleString(data.language, { maximumFractionDigits: 4 });
}

// A frame for values x and y: where they stand, its axes, and the room inside.
class Frame {
  constructor(wide, high, x, y, { left = 46, right = 10, top = 8, bottom = 24 } = {}) {
    Object.assign(this, { wide, high, left, right: wide - right, top, bottom: high - bottom });
    this.spans = [x, y].map(([low, high]) => (high > low ? [low, high] : [low - 0.5, low + 0.5]));
  }

  x(value) {
    const [low, high] = this.spans[0];
    return this.left + ((value - low) / (high - low)) * (this.right - this.left);
  }

  y(value) {
    const [low, high] = this.spans[1];
    return this.bottom - ((value - low) / (high - low)) * (this.bottom - this.top);
  }

  axes(titles = [], labels = null) {
    const [across, up] = this.spans;
    const rows = ticks(...up, Math.max(2, Math.floor((this.bottom - this.top) / 45))).flatMap((value) => [
      shape("line", { class: "grid", x1: this.left, x2: this.right, y1: this.y(value), y2: this.y(value) }),
      shape("text", { x: this.left - 6, y: this.y(value) + 4, "text-anchor": "end" }, tickText(value)),
    ]);
    const places = labels ?? ticks(...across, Math.max(2, Math.floor((this.right - this.left) / 48))).map((value) => [value, tickText(value)]);
    const below = places.map(([value, text]) => shape("text", { x: this.x(value), y: this.bottom + 16, "text-anchor": "middle" }, text));
    const [under, beside] = titles;
    const headings = [
      under ? shape("text", { class: "title", x: (this.left + this.right) / 2, y: this.high - 4, "text-anchor": "middle" }, under) : null,
      beside ? shape("text", { class: "title", x: -(this.top + this.bottom) / 2, y: 12, transform: "rotate(-90)", "text-anchor": "middle" }, beside) : null,
    ];
    return shape("g", { class: "axes" }, ...rows, shape("line", { class: "base", x1: this.left, x2: this.right, y1: this.bottom, y2: this.bottom }), ...below, ...headings);
  }
}

// Cividis, which reads alike with every kind of colour vision, by nine of its colours.
const CIVIDIS = ["00224e", "1f3a6d", "434e6c", "61656f", "7d7c78", "9a9477", "b9ac70", "d9c75f", "fee838"];

function shade(share) {
  const place = Math.min(Math.max(share, 0), 1) * (CIVIDIS.length - 1), at = Math.min(Math.floor(place), CIVIDIS.length - 2);
  const part = (colour, from) => parseInt(colour.slice(from, from + 2), 16);
  const mixed = [0, 2, 4].map((from) => Math.round(part(CIVIDIS[at], from) + (place - at) * (part(CIVIDIS[at + 1], from) - part(CIVIDIS[at], from))));
  return `rgb(${mixed.join(", ")})`;
}
