// How full the colours of cells are at most, so that the ink on them is read in both themes.
const PALE = 0.55;

// Charts, drawn when they come into view, and all of them before the page is printed.
const charts = {
  waiting: new Map(),
  drawn: new Map(),
  correlated: data.correlations?.shown,

  // The share of its scores that each system has in each bin: bars of one system, outlines of several.
  histogram(home, at) {
    const { edges, systems: some } = data.histograms[at], several = some.length > 1;
    const heights = some.map(({ counts, n }) => counts.map((many) => (several ? many / Math.max(n, 1) : many)));
    const frame = new Frame(home.clientWidth || 320, 176, [edges[0], edges.at(-1)], [0, Math.max(...heights.flat())]);
    const left = (place) => frame.x(edges[place]), right = (place) => (edges.at(-1) > edges[0] ? frame.x(edges[place + 1]) : left(place) + 4);
    if (several) {
      const steps = heights.map((line, system) => {
        const path = line.map((height, place) => `V${frame.y(height).toFixed(1)}H${right(place).toFixed(1)}`).join("");
        const title = hint(`${systems.names[system]}: n ${count(some[system].n)}`);
        return shape("g", { class: `series series-${system % 6}` }, shape("path", { d: `M${left(0)} ${frame.bottom}${path}V${frame.bottom}` }, title));
      });
      return [picture(frame.wide, frame.high, frame.axes(), ...steps)];
    }
    const bars = some[0].counts.map((many, place) => {
      const title = hint(`${figure(edges[place])} – ${figure(edges[place + 1])}: ${count(many)}`);
      return shape("rect", { class: "bar", "data-count": many, x: left(place), width: Math.max(right(place) - left(place) - 0.5, 0.5), y: frame.y(many), height: frame.bottom - frame.y(many) }, title);
    });
    return [picture(frame.wide, frame.high, frame.axes(), ...bars)];
  },

  // The lines of a chart by name, each as it is drawn.
  keys(names) {
    const line = (place) => shape("svg", { class: `key series series-${place % 6}`, viewBox: "0 0 24 10", "aria-hidden": "true" }, shape("path", { d: "M0 5H24" }));
    return element("p", { class: "legend keys" }, ...names.map((name, place) => element("span", {}, line(place), " ", element("bdi", {}, name))));
  },

  // A cell without a value is crossed out: nothing is known, which is not 0.
  correlations(home) {
    const values = data.correlations.values[this.correlated], names = data.correlations.names.map((name, at) => (data.metrics[at].better === "lower" ? `${name} (−)` : name));
    const wide = Math.min(home.clientWidth || 640, 900), left = Math.min(170, wide / 3);
    const size = Math.max(8, Math.min(44, (wide - left) / names.length)), top = left * 0.8;
    const short = (name, room) => (name.length * 6.3 <= room ? name : `${name.slice(0, Math.floor(room / 6.3) - 1)}…`);
    const cells = values.flatMap((line, row) => line.map((value, column) => {
      const place = { x: left + column * size, y: top + row * size, width: size - 1, height: size - 1 };
      const title = hint(`${names[row]}, ${names[column]}: ${value === null ? words.no_value : figure(value)}`);
      if (value === null) {
        const cross = `M${place.x + 2} ${place.y + 2}l${size - 5} ${size - 5}m0 ${5 - size}l${5 - size} ${size - 5}`;
        return shape("g", { class: "cell absent" }, title, shape("rect", place), shape("path", { d: cross }));
      }
      const colour = { class: value < 0 ? "against" : "along", "fill-opacity": PALE * Math.abs(value) };
      const text = size < 34 ? null : shape("text", { x: place.x + size / 2, y: place.y + size / 2 + 4, "text-anchor": "middle" }, decimal(value.toFixed(2)).replace("0.", "."));
      return shape("g", { class: "cell", "data-value": String(value) }, title, shape("rect", { ...place, ...colour }), text);
    }));
    const beside = names.map((name, row) => shape("text", { x: left - 6, y: top + (row + 0.5) * size + 4, "text-anchor": "end" }, hint(name), short(name, left - 8)));
    const above = names.map((name, column) => {
      const [x, y] = [left + (column + 0.5) * size + 4, top - 6];
      return shape("text", { x, y, transform: `rotate(-60 ${x} ${y})` }, hint(name), short(name, top));
    });
    const ramp = [-1, -0.5, 0, 0.5, 1].map((value, at) => [
      shape("rect", { x: left + at * 44, y: 14, width: 43, height: 12, class: value < 0 ? "against" : "along", "fill-opacity": PALE * Math.abs(value) }),
      shape("text", { x: left + at * 44 + 22, y: 10, "text-anchor": "middle" }, tickText(value)),
    ]);
    const key = shape("g", { class: "cell ramp" }, ...ramp.flat());
    return [picture(wide, top + names.length * size + 40, key, shape("g", { transform: "translate(0 36)" }, ...beside, ...above, ...cells))];
  },

  title(at, name) {
    return data.charts[at].words && Object.hasOwn(words, name) ? words[name] : name;
  },

  // Lines over common places, distinguished by colour and dashes; a place without a value is a gap.
  lines(home, at) {
    const { x, x_title, x_labels, lines } = data.charts[at];
    const values = lines.flatMap((line) => line.y).filter((value) => value !== null);
    const [low, high] = [Math.min(0, ...values), Math.max(0, ...values)];
    const frame = new Frame(home.clientWidth || 640, 260, [Math.min(...x), Math.max(...x)], [low, high > low ? high : 1], { bottom: 42, right: 24 });
    // Texts of places that stand close together would overlap: the first of them is shown.
    let shown = -Infinity;
    const apart = (value) => frame.x(value) - shown >= (x_labels ? 90 : 40) && ((shown = frame.x(value)), true);
    const labels = x_labels || x.length <= 12 ? x.map((value, place) => [value, x_labels?.[place] ?? String(value)]).filter(([value]) => apart(value)) : null;
    const drawn = lines.map((line, place) => {
      const parts = line.y.map((value, spot) => (value === null ? "" : `${spot && line.y[spot - 1] !== null ? "L" : "M"}${frame.x(x[spot]).toFixed(1)} ${frame.y(value).toFixed(1)}`));
      const marks = line.y.map((value, spot) => value === null ? null : shape("circle", { cx: frame.x(x[spot]), cy: frame.y(value), r: 3.5, "data-value": String(value) }, hint(`${this.title(at, line.name)}: ${figure(value)} (${x_labels?.[spot] ?? x[spot]})`)));
      return shape("g", { class: `series series-${place % 6}` }, shape("path", { d: parts.join("") }), ...marks);
    });
    return [this.keys(lines.map((line) => this.title(at, line.name))), picture(frame.wide, frame.high, frame.axes([this.title(at, x_title)], labels), ...drawn)];
  },

  draw(home) {
    const make = this.waiting.get(home) ?? this.drawn.get(home);
    this.waiting.delete(home);
    this.drawn.set(home, make);
    home.drawnWide = home.clientWidth;
    home.replaceChildren(...make(home));
  },

  start() {
    const seen = new IntersectionObserver((entries) => {
      for (const { isIntersecting, target } of entries) if (isIntersecting && this.waiting.has(target)) this.draw(target);
    });
    // A chart of another width than when it was drawn, as of a turned phone or where a scroll bar appears, is drawn again.
    const sized = new ResizeObserver((entries) => {
      for (const { target } of entries) {
        if (target.clientWidth && this.drawn.has(target) && Math.abs(target.clientWidth - target.drawnWide) > 1) this.draw(target);
      }
    });
    const add = (home, name, make) => {
      home.setAttribute("role", "img");
      home.setAttribute("aria-label", name);
      this.waiting.set(home, make);
      home.after(chartFiles.buttons(home, name));
      seen.observe(home);
      sized.observe(home);
    };
    if (systems.names.length > 1) byId("histograms").before(this.keys(systems.names));
    data.histograms.forEach((histogram, at) => {
      const name = data.metrics[at].name;
      const home = element("div", { class: "chart" });
      const scored = histogram.systems.map(({ n }) => n), missing = Math.max(...histogram.systems.map((one) => one.missing));
      const [least, most] = [Math.min(...scored), Math.max(...scored)];
      const counted = element("p", {}, `n ${count(least)}${most > least ? `–${count(most)}` : ""}${missing ? ` · ${words.missing} ${count(missing)}` : ""}`);
      const link = element("a", { href: `#page=rows&metric=${at}` }, element("bdi", {}, name));
      byId("histograms").append(element("div", { class: "card" }, element("h3", {}, link), counted, most ? home : ""));
      if (most) add(home, `${words.histograms}: ${name}`, (home) => this.histogram(home, at));
    });
    for (const home of document.querySelectorAll("[data-chart]")) {
      const at = Number(home.dataset.chart);
      add(home, this.title(at, data.charts[at].name), (home) => this.lines(home, at));
    }
    byId("correlated")?.addEventListener("change", (event) => {
      this.correlated = Number(event.target.value);
      this.draw(byId("correlations"));
    });
    if (data.points) add(byId("points"), words.vectors, (home) => points.draw(home));
    if (data.correlations) add(byId("correlations"), words.correlations, (home) => this.correlations(home));
    addEventListener("beforeprint", () => [...this.waiting.keys()].forEach((home) => this.draw(home)));
  },
};
