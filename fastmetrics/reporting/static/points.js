// The page of vectors: a point a row, coloured by a metric; hovering shows its text, a click opens the row.
const points = {
  metric: 0,

  draw(home) {
    const { x, y, id, text, scores, metrics } = data.points;
    const values = scores[this.metric] ?? x.map(() => null);
    const span = (some) => [some.reduce((a, b) => Math.min(a, b), Infinity), some.reduce((a, b) => Math.max(a, b), -Infinity)];
    const scored = values.filter((value) => value !== null && Number.isFinite(value));
    const [least, most] = span(scored);
    const frame = new Frame(home.clientWidth || 640, 520, span(x), span(y), { left: 60, bottom: 44 });
    const size = x.length > 500 ? 3 : 4.5;
    const mark = (at) => {
      const title = hint([id[at], values[at] === null ? "" : `${metrics[this.metric]}: ${figure(values[at])}`, text[at]].filter(Boolean).join("\n"));
      const place = { cx: frame.x(x[at]), cy: frame.y(y[at]), r: size, "data-at": at };
      if (values[at] === null) return shape("circle", { ...place, class: "absent" }, title);
      return shape("circle", { ...place, fill: shade(most > least ? (values[at] - least) / (most - least) : 0.5), "data-value": String(values[at]) }, title);
    };
    const dots = shape("g", { class: "dots" }, ...x.map((_, at) => at).sort((a, b) => (values[a] === null ? -1 : 0) - (values[b] === null ? -1 : 0)).map(mark));
    dots.addEventListener("click", (event) => {
      const at = event.target.closest("[data-at]")?.dataset.at;
      if (at !== undefined) this.open(data.points.at[at]);
    });
    return [this.key(least, most, scored.length), picture(frame.wide, frame.high, frame.axes(["PC 1", "PC 2"]), dots)];
  },

  key(least, most, many) {
    if (!many) return "";
    const steps = Array.from({ length: 32 }, (_, at) => shape("rect", { x: at * 4, width: 4.5, height: 10, fill: shade(at / 31) }));
    const bar = shape("svg", { class: "ramp", viewBox: "0 0 128 10", "aria-hidden": "true" }, ...steps);
    return element("p", { class: "legend keys" }, element("bdi", {}, data.points.metrics[this.metric]), ` ${figure(least)} `, bar, ` ${figure(most)}`);
  },

  open(row) {
    address.go({ page: "rows", row, theme: address.read().theme });
    openPage();
  },

  start() {
    if (!data.points) return;
    const choice = byId("point-metric"), home = byId("points");
    data.points.metrics.forEach((name, at) => choice.append(element("option", { value: at }, name)));
    choice.addEventListener("change", () => {
      this.metric = Number(choice.value);
      if (charts.drawn.has(home)) charts.draw(home);
    });
  },
};
