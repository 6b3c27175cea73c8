// What goes with the list of rows: the counted filters by change, its rows as CSV, and a link to what is seen.
const KINDS = ["regressed", "improved", "unchanged", "unscored", "unpaired"];

const MOST_FILTERS = 6;

// Filters by other metrics, as the address names them: metric:least:most;…
function otherFilters(text) {
  const valid = (bound) => (bound === "" || bound === undefined || Number.isNaN(Number(bound)) ? undefined : bound);
  const filters = (text ?? "").split(";").map((entry) => {
    const [metric, least, most] = entry.split(":");
    return { metric: metric === "" ? -1 : Number(metric), least: valid(least), most: valid(most) };
  });
  return filters.filter(({ metric, least, most }) => data.metrics[metric] && (least ?? most) !== undefined).slice(0, MOST_FILTERS);
}

const filterText = (filters) => filters.map(({ metric, least, most }) => [metric, least ?? "", most ?? ""].join(":")).join(";") || null;

const rowsOut = {
  start() {
    byId("row-csv").addEventListener("click", () => this.download());
    byId("row-link").addEventListener("click", () => this.copyLink());
    byId("row-rendered").addEventListener("change", (event) => {
      address.write({ rendered: event.target.checked ? "1" : null });
      rowsPage.follow();
    });
    byId("row-also").addEventListener("click", () => this.keepFilter());
    rowLabels.start();
  },

  // The bounds of the chosen metric stay a filter when another metric is chosen.
  keepFilter() {
    const { least, most, also } = address.read();
    if (least === undefined && most === undefined) return;
    const others = otherFilters(also).filter((filter) => filter.metric !== rowsPage.metric);
    rowsPage.change({ also: filterText([...others, { metric: rowsPage.metric, least, most }].slice(-MOST_FILTERS)), least: null, most: null });
  },

  showFilters(filters) {
    const buttons = filters.map((filter) => {
      const bound = (value, sign) => (value === undefined ? "" : ` ${sign} ${value}`);
      const text = `${data.metrics[filter.metric].name}${bound(filter.least, "≥")}${bound(filter.most, "≤")}`;
      const button = element("button", { type: "button", "aria-label": `${words.remove_filter}: ${text}` }, element("bdi", {}, text), " ×");
      button.addEventListener("click", () => rowsPage.change({ also: filterText(filters.filter((other) => other !== filter)) }));
      return button;
    });
    byId("row-filters").replaceChildren(...buttons);
  },

  // A button for each kind of change that a row has, which is pressed where it is the choice.
  filters(kinds, chosen, metric) {
    const counts = new Uint32Array(KINDS.length);
    for (let at = 0; at < kinds.length; at++) counts[kinds[at]]++;
    const title = (kind) => (metric?.better || kind.startsWith("un") ? words[kind] : words[{ improved: "rose_rows", regressed: "fell_rows" }[kind]]);
    const offered = KINDS.filter((kind, at) => kind !== "unpaired" && (counts[at] || kind === chosen));
    const buttons = offered.map((kind) => {
      const button = element("button", { type: "button", "aria-pressed": String(kind === chosen), "data-kind": kind }, `${title(kind)} ${count(counts[KINDS.indexOf(kind)])}`);
      button.addEventListener("click", () => rowsPage.change({ kind: kind === chosen ? null : kind }));
      return button;
    });
    byId("row-kinds").replaceChildren(...buttons);
  },

  async copyLink() {
    await navigator.clipboard?.writeText(location.href);
    byId("row-done").textContent = words.copied;
  },

  download() {
    byId("row-done").textContent = "";
    source.sheet(rowsPage.table.rows, (lines) => {
      const blob = new Blob(["\ufeff", ...lines.map((line) => line.map(csvCell).join(",") + "\r\n")], { type: "text/csv" });
      save(blob, "rows.csv");
      byId("row-done").textContent = `${words.downloaded} ${count(lines.length - 1)}`;
    });
  },
};

// A cell of CSV; text that a spreadsheet would run as a formula has a quote before it, as in fastmetrics' own files.
function csvCell(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return String(value);
  const text = String(value);
  const runs = /^'*[=+\-@\t\r\n＝＋－＠]/.test(text) && !/^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(text);
  return `"${(runs ? `'${text}` : text).replaceAll('"', '""')}"`;
}
