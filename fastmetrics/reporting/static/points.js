// The page of vectors: a point a row, coloured by a metric; hovering shows its text, a click opens the row.
const points = {
  metric: 0,

  draw() {
    const { x, y, id, text, scores, metrics } = data.points;
    const values = scores[this.metric] ?? x.map(() => null);
    const places = (scored) => x.map((_, at) => at).filter((at) => (values[at] !== null) === scored);
    const lines = (at) => [id[at], values[at] === null ? "" : `${metrics[this.metric]}: ${figure(values[at])}`, ...broken(text[at])];
    const trace = (some, marker) => ({
      type: "scatter", mode: "markers", x: some.map((at) => x[at]), y: some.map((at) => y[at]), customdata: some,
      text: some.map((at) => lines(at).filter(Boolean).map(escaped).join("<br>")), hovertemplate: "%{text}<extra></extra>", marker,
    });
    const colorbar = { thickness: 12, outlinewidth: 0, title: { text: escaped(metrics[this.metric] ?? "") } };
    const scored = places(true), size = x.length > 500 ? 6 : 9;
    const coloured = { size, color: scored.map((at) => values[at]), colorscale: "Cividis", showscale: scored.length > 0, colorbar };
    const unknown = { size, color: charts.colour("--line"), symbol: "x" };
    const axis = { fixedrange: false, zeroline: false };
    const layout = { hovermode: "closest", xaxis: { ...axis, title: { text: "PC 1" } }, yaxis: { ...axis, title: { text: "PC 2" } }, margin: { l: 50, r: 8, t: 8, b: 44 } };
    return [[trace(places(false), unknown), trace(scored, coloured)], charts.layout(layout)];
  },

  start() {
    if (!data.points) return;
    const choice = byId("point-metric"), home = byId("points");
    data.points.metrics.forEach((name, at) => choice.append(element("option", { value: at }, name)));
    choice.addEventListener("change", () => {
      this.metric = Number(choice.value);
      if (charts.drawn.has(home)) charts.draw(home, () => this.draw());
    });
  },

  // Once a chart is drawn it tells of clicks.
  listen(home) {
    if (home.dataset.heard) return;
    home.dataset.heard = "yes";
    home.on("plotly_click", (event) => {
      address.write({ page: "rows", stratum: null, find: null, least: null, most: null, row: data.points.at[event.points[0].customdata] });
      openPage();
    });
  },
};

// Text in lines of some 60 characters.
function broken(text) {
  return text.match(/[^]{1,60}(?:\s|$)|[^]{60}/gu) ?? [];
}
