// The page of rows: chosen by stratum and search, sorted by a score, and linked to.
const rowsPage = {
  start() {
    const metrics = byId("row-metric"), strata = byId("row-stratum"), search = byId("row-search");
    data.metrics.forEach((metric, at) => metrics.append(element("option", { value: at }, metric.name)));
    strata.append(element("option", { value: "" }, words.every_row));
    data.strata.forEach((one, at) => {
      const told = `${[words[one.kind], one.metrics.join(", ")].filter(Boolean).join(": ")} (${count(one.rows.length)} ${words.of} ${count(one.n)})`;
      strata.append(element("option", { value: at }, told));
    });
    metrics.addEventListener("change", () => this.change({ metric: metrics.value, row: null }));
    strata.addEventListener("change", () => this.chooseStratum(strata.value));
    search.addEventListener("input", () => this.change({ find: search.value }));
    const columns = [
      { key: "id", kind: "name", cell: (row) => [row.id] },
      { key: "question", kind: "name", cell: (row) => [row.t.question ?? row.t.answer ?? ""] },
      { key: "score", kind: "figure", cell: (row) => [figure(row.s[this.metric])] },
    ];
    if (data.compared) {
      columns.push({ key: "baseline", kind: "figure before", cell: (row) => [figure(row.b[this.metric])] });
      columns.push({ key: "change", kind: "figure", cell: (row) => this.changed(row) });
      byId("row-table").classList.add("compared");
    }
    this.columns = columns.map((column) => ({ ...column, title: words[column.key] }));
    this.table = new Table(byId("row-table"), this.columns, (row) => this.selected(row), (key) => this.sortBy(key));
    this.texts = data.rows.map((row) => null);
  },

  changed(row) {
    const before = row.b[this.metric], after = row.s[this.metric];
    if (typeof before !== "number" || typeof after !== "number") return ["–"];
    const change = after - before;
    const better = data.metrics[this.metric].better;
    const sign = change === 0 || !better ? "" : (change > 0) === (better === "higher") ? "gain" : "loss";
    return [signed(Number(change.toPrecision(6))), sign];
  },

  chooseStratum(value) {
    const stratum = data.strata[value];
    const names = data.metrics.map((metric) => metric.name);
    const metric = stratum?.metrics.length ? names.indexOf(stratum.metrics[0]) : null;
    this.change({ stratum: value, sort: null, down: null, row: null, ...(metric === null ? {} : { metric }) });
  },

  sortBy(key) {
    const state = address.read();
    const down = state.sort === key && !state.down ? "1" : null;
    this.change({ sort: key, down });
  },

  change(changes) {
    address.write({ page: "rows", ...changes });
    this.follow();
  },

  selected(row) {
    address.write({ page: "rows", row: row === null ? null : row.at });
    showDetail(row);
  },

  // All that a search looks through, made when it is first asked for.
  text(at) {
    if (this.texts[at] === null) {
      const row = data.rows[at];
      const said = (row.j ?? []).flat();
      const told = [...Object.values(row.t).flat(), ...said].filter((one) => typeof one === "string");
      this.texts[at] = [row.id, row.other ?? "", ...told].join("\n").toLowerCase();
    }
    return this.texts[at];
  },

  key(name) {
    if (name === "id") return (row) => row.at;
    if (name === "question") return (row) => row.t.question ?? row.t.answer ?? "";
    if (name === "baseline") return (row) => row.b[this.metric];
    if (name === "change") return (row) => (typeof row.b[this.metric] === "number" && typeof row.s[this.metric] === "number" ? row.s[this.metric] - row.b[this.metric] : null);
    return (row) => row.s[this.metric];
  },

  // What the address says, shown.
  follow() {
    const state = address.read();
    const found = Number(state.metric ?? 0);
    this.metric = Number.isInteger(found) && found >= 0 && found < data.metrics.length ? found : 0;
    const stratum = data.strata[state.stratum];
    byId("row-metric").value = this.metric;
    byId("row-stratum").value = stratum ? state.stratum : "";
    if (byId("row-search").value !== (state.find ?? "")) byId("row-search").value = state.find ?? "";
    let places = stratum ? stratum.rows : data.rows.map((_, at) => at);
    const wanted = (state.find ?? "").toLowerCase().trim();
    if (wanted) places = places.filter((at) => this.text(at).includes(wanted));
    let rows = places.map((at) => data.rows[at]);
    if (state.sort) rows = this.sorted(rows, this.key(state.sort), Boolean(state.down));
    const titles = this.columns.map((column) => (column.key === "score" && data.metrics.length ? data.metrics[this.metric].name : column.title));
    this.table.chosen = -1;
    this.table.show(rows, titles, state.sort, Boolean(state.down));
    byId("row-count").textContent = rows.length ? this.told(rows.length, stratum) : words.nothing;
    const chosen = rows.findIndex((row) => String(row.at) === state.row);
    this.table.select(chosen, false);
    showDetail(chosen < 0 ? null : rows[chosen]);
  },

  told(shown, stratum) {
    return `${words.shows} ${count(shown)} ${words.of} ${count(stratum ? stratum.n : data.n_rows)}.`;
  },

  // Rows without a value come last whichever way the others go.
  sorted(rows, key, down) {
    const keyed = rows.map((row, at) => [key(row), at, row]);
    const has = (one) => one[0] !== null && one[0] !== undefined;
    const order = (a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0);
    keyed.sort((a, b) => has(b) - has(a) || (has(a) ? (down ? -order(a, b) : order(a, b)) : 0) || a[1] - b[1]);
    return keyed.map((one) => one[2]);
  },
};
