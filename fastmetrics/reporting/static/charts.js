// Charts, drawn with Plotly when they come into view.  Plotly takes some markup in texts: a text is escaped for it.
const escaped = (text) => String(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

const charts = {
  drawn: new Map(),

  colour(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  },

  layout(extra) {
    const axis = { gridcolor: this.colour("--line"), zerolinecolor: this.colour("--line"), fixedrange: true };
    const font = { color: this.colour("--ink"), family: "system-ui, sans-serif", size: 11 };
    const base = { paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)", font, showlegend: false };
    const { xaxis, yaxis, ...others } = extra;
    return { ...base, margin: { l: 44, r: 8, t: 8, b: 28 }, xaxis: { ...axis, ...xaxis }, yaxis: { ...axis, ...yaxis }, ...others };
  },

  histogram(at) {
    const { edges, counts } = data.histograms[at];
    const middles = counts.map((_, place) => (edges[place] + edges[place + 1]) / 2);
    const widths = counts.map((_, place) => edges[place + 1] - edges[place] || 1);
    const labels = counts.map((many, place) => `[${figure(edges[place])}, ${figure(edges[place + 1])}]: ${count(many)}`);
    const bars = { type: "bar", x: middles, y: counts, width: widths, text: labels, textposition: "none", hovertemplate: "%{text}<extra></extra>" };
    return [[{ ...bars, marker: { color: this.colour("--bar"), line: { width: 0.5, color: this.colour("--raised") } } }], this.layout({ bargap: 0 })];
  },

  correlations() {
    const names = data.correlations.names.map(escaped), { values } = data.correlations;
    const scale = [[0, this.colour("--other")], [0.5, this.colour("--paper")], [1, this.colour("--bar")]];
    const map = { type: "heatmap", x: names, y: names, z: values, zmin: -1, zmax: 1, colorscale: scale, hoverongaps: false };
    const margin = { l: 10, r: 10, t: 10, b: 10 };
    const side = { automargin: true, type: "category" };
    return [[map], this.layout({ margin, xaxis: { ...side, tickangle: -60 }, yaxis: { ...side, autorange: "reversed" } })];
  },

  title(at, name) {
    return data.charts[at].words && Object.hasOwn(words, name) ? words[name] : name;
  },

  // Lines over common places, distinguished by colour, dash and marker.
  lines(at) {
    const { x, x_title, lines } = data.charts[at];
    const title = (name) => this.title(at, name);
    const colours = ["--bar", "--other", "--good", "--soft", "--poor", "--accent"].map((name) => this.colour(name));
    const dashes = ["solid", "dash", "dot", "dashdot"], markers = ["circle", "square", "diamond", "cross", "triangle-up"];
    const traces = lines.map((line, place) => {
      const style = { color: colours[place % colours.length], dash: dashes[place % dashes.length] };
      const marker = { symbol: markers[place % markers.length], size: 7 };
      return { type: "scatter", mode: "lines+markers", name: escaped(title(line.name)), x, y: line.y, line: style, marker };
    });
    const legend = { orientation: "h", y: 1.02, yanchor: "bottom" };
    const layout = { showlegend: true, legend, hovermode: "x unified", hoverlabel: { bgcolor: this.colour("--raised") } };
    const margin = { l: 44, r: 8, t: 8, b: 40 };
    const xaxis = { title: { text: escaped(title(x_title)) }, ...(x.length > 12 ? {} : { tickvals: x }) };
    return [traces, this.layout({ ...layout, margin, xaxis, yaxis: { rangemode: "tozero" } })];
  },

  // The library waits as text until the first chart is seen, so that the page opens at once.
  library() {
    if (!window.Plotly) document.head.append(element("script", {}, byId("library").textContent));
  },

  draw(home, make) {
    this.library();
    const [traces, layout] = make();
    this.drawn.set(home, make);
    Plotly.react(home, traces, layout, { displayModeBar: false, responsive: true });
    if (home.id === "points") points.listen(home);
  },

  redraw() {
    for (const [home, make] of this.drawn) this.draw(home, make);
  },

  start() {
    const waiting = new Map();
    const seen = new IntersectionObserver((entries) => {
      for (const entry of entries) {
        if (entry.isIntersecting && waiting.has(entry.target)) {
          this.draw(entry.target, waiting.get(entry.target));
          waiting.delete(entry.target);
          seen.unobserve(entry.target);
        }
      }
    });
    const add = (home, name, make) => {
      home.setAttribute("role", "img");
      home.setAttribute("aria-label", name);
      waiting.set(home, make);
      seen.observe(home);
    };
    data.histograms.forEach((histogram, at) => {
      const name = data.metrics[at].name;
      const home = element("div", { class: "chart" });
      const without = histogram.missing ? ` · ${words.missing} ${count(histogram.missing)}` : "";
      const counted = element("p", {}, `n ${count(histogram.n)}${without}`);
      byId("histograms").append(element("div", { class: "card" }, element("h3", {}, element("bdi", {}, name)), counted, histogram.n ? home : ""));
      if (histogram.n) add(home, `${words.histograms}: ${name}`, () => this.histogram(at));
    });
    for (const home of document.querySelectorAll("[data-chart]")) {
      const at = Number(home.dataset.chart);
      add(home, this.title(at, data.charts[at].name), () => this.lines(at));
    }
    if (data.points) add(byId("points"), words.vectors, () => points.draw());
    if (data.correlations) add(byId("correlations"), words.correlations, () => this.correlations());
  },
};
