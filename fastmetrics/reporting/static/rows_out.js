// What goes with the list of rows: the counted filters by change, its rows as CSV, and a link to what is seen.
const KINDS = ["regressed", "improved", "unchanged", "unscored", "unpaired"];

const rowsOut = {
  start() {
    byId("row-csv").addEventListener("click", () => this.download());
    byId("row-link").addEventListener("click", () => this.copyLink());
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
