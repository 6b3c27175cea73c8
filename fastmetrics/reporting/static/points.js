// The page of vectors: a point a row, coloured by a metric or a column; hovering shows its text, a click opens the row,
// and a search dims the others.
const GROUPS = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#b8a800", "#8a8f98"];

const points = {
  chosen: 0,

  // The colour of each point by the chosen metric or column, its value as text, and the key.
  colours() {
    const { scores, metrics, columns } = data.points;
    const column = columns[this.chosen - metrics.length];
    if (column) {
      const names = [...column.values, words.other_values];
      const key = names.filter((_, at) => column.codes.includes(at)).map((name) => {
        const dot = shape("svg", { class: "key", viewBox: "0 0 24 10", "aria-hidden": "true" }, shape("circle", { cx: 12, cy: 5, r: 4.5, fill: GROUPS[names.indexOf(name)] }));
        return element("span", {}, dot, " ", element("bdi", {}, name));
      });
      return { name: column.name, key: [element("p", { class: "legend keys" }, ...key)], of: (at) => GROUPS[column.codes[at]] ?? null, text: (at) => names[column.codes[at]] ?? "" };
    }
    const values = scores[this.chosen] ?? [];
    const scored = values.filter((value) => value !== null && Number.isFinite(value));
    const [least, most] = span(scored);
    const of = (at) => (values[at] === null || values[at] === undefined ? null : shade(most > least ? (values[at] - least) / (most - least) : 0.5));
    return { name: metrics[this.chosen], key: this.ramp(least, most, scored.length), of, text: (at) => figure(values[at]), value: (at) => values[at] };
  },

  // Where the points stand: their two coordinates, or three turned and tilted.
  spots() {
    const { x, y, z } = data.points;
    if (!z) return [x, y];
    const [turn, tilt] = ["turn", "tilt"].map((name) => (Number(byId(`point-${name}`).value) * Math.PI) / 180);
    const middle = [x, y, z].map((some) => span(some).reduce((a, b) => (a + b) / 2));
    const [a, b, c] = [x, y, z].map((some, at) => some.map((value) => value - middle[at]));
    const depth = a.map((value, at) => c[at] * Math.cos(turn) - value * Math.sin(turn));
    return [a.map((value, at) => value * Math.cos(turn) + c[at] * Math.sin(turn)), b.map((value, at) => value * Math.cos(tilt) - depth[at] * Math.sin(tilt))];
  },

  draw(home) {
    const { id, text, z } = data.points;
    const [x, y] = this.spots(), colours = this.colours();
    const frame = new Frame(home.clientWidth || 640, 520, span(x), span(y), { left: 60, bottom: 44 });
    const size = x.length > 500 ? 3 : 4.5, sought = byId("point-find").value.toLowerCase().trim();
    const mark = (at) => {
      const fill = colours.of(at);
      const title = hint([id[at], fill === null ? "" : `${colours.name}: ${colours.text(at)}`, text[at]].filter(Boolean).join("\n"));
      const found = `${id[at]}\n${text[at] ?? ""}`.toLowerCase().includes(sought);
      const place = { cx: frame.x(x[at]), cy: frame.y(y[at]), r: size, "data-at": at, opacity: found ? null : 0.12 };
      if (fill === null) return shape("circle", { ...place, class: "absent" }, title);
      return shape("circle", { ...place, fill, "data-value": colours.value ? String(colours.value(at)) : null }, title);
    };
    const coloured = (at) => (colours.of(at) === null ? -1 : 0);
    const dots = shape("g", { class: "dots" }, ...x.map((_, at) => at).sort((a, b) => coloured(a) - coloured(b)).map(mark));
    dots.addEventListener("click", (event) => {
      const at = event.target.closest("[data-at]")?.dataset.at;
      if (at !== undefined) this.open(data.points.at[at]);
    });
    return [...colours.key, picture(frame.wide, frame.high, z ? null : frame.axes(data.points.explained ? ["PC 1", "PC 2"] : []), dots)];
  },

  ramp(least, most, many) {
    if (!many) return [];
    const steps = Array.from({ length: 32 }, (_, at) => shape("rect", { x: at * 4, width: 4.5, height: 10, fill: shade(at / 31) }));
    const bar = shape("svg", { class: "ramp", viewBox: "0 0 128 10", "aria-hidden": "true" }, ...steps);
    return [element("p", { class: "legend keys" }, element("bdi", {}, data.points.metrics[this.chosen]), ` ${figure(least)} `, bar, ` ${figure(most)}`)];
  },

  open(row) {
    address.go({ page: "rows", row, theme: address.read().theme });
    openPage();
  },

  start() {
    if (!data.points) return;
    const choice = byId("point-metric"), home = byId("points");
    const names = [...data.points.metrics, ...data.points.columns.map((column) => column.name)];
    names.forEach((name, at) => choice.append(element("option", { value: at }, name)));
    const again = () => charts.drawn.has(home) && charts.draw(home);
    choice.addEventListener("change", () => {
      this.chosen = Number(choice.value);
      again();
    });
    for (const name of ["find", "turn", "tilt"]) byId(`point-${name}`)?.addEventListener("input", again);
  },
};
