// What goes with the list of rows: the counted filters by change, its rows as CSV, and a link to what is seen.
const rowsOut = {
  KINDS: ["regressed", "improved", "unchanged", "unscored"],

  start() {
    byId("row-csv").addEventListener("click", () => this.download());
    byId("row-link").addEventListener("click", () => this.copyLink());
  },

  // A button for each kind of change that a row has, which is pressed where it is the choice.
  filters(kinds, chosen, metric) {
    const counts = Object.fromEntries(this.KINDS.map((kind) => [kind, 0]));
    for (const kind of kinds) counts[kind]++;
    const title = (kind) => (metric?.better || kind.startsWith("un") ? words[kind] : words[{ improved: "rose_rows", regressed: "fell_rows" }[kind]]);
    const buttons = this.KINDS.filter((kind) => counts[kind] || kind === chosen).map((kind) => {
      const button = element("button", { type: "button", "aria-pressed": String(kind === chosen), "data-kind": kind }, `${title(kind)} ${count(counts[kind])}`);
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
      const link = element("a", { href: URL.createObjectURL(blob), download: "rows.csv" });
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
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
