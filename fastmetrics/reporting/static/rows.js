// The page of rows: chosen by stratum, score and search, sorted by a score, and linked to.
const rowsPage = {
  start() {
    const metrics = byId("row-metric"), strata = byId("row-stratum"), search = byId("row-search");
    data.metrics.forEach((metric, at) => metrics.append(element("option", { value: at }, metric.name)));
    strata.append(element("option", { value: "" }, words[data.all ? "all_rows" : "every_row"]));
    data.strata.forEach((stratum, at) => {
      const title = [words[stratum.kind], stratum.metrics.join(", ")].filter(Boolean).join(": ");
      strata.append(element("option", { value: at }, `${title} (${count(stratum.rows.length)} ${words.of} ${count(stratum.n)})`));
    });
    metrics.addEventListener("change", () => this.change({ metric: metrics.value, row: null }));
    strata.addEventListener("change", () => this.chooseStratum(strata.value));
    search.addEventListener(data.all ? "change" : "input", () => this.change({ find: search.value }));
    for (const name of ["least", "most"]) byId(`row-${name}`).addEventListener("change", (event) => this.change({ [name]: event.target.value }));
    const columns = [
      { key: "id", kind: "name", cell: (place) => [this.line(place).id] },
      { key: "question", kind: "name", cell: (place) => [this.line(place).text] },
      { key: "score", kind: "figure", cell: (place) => [figure(shownScore(this.scores[place]))] },
    ];
    if (data.compared) {
      columns.push({ key: "baseline", kind: "figure before", cell: (place) => [figure(shownScore(this.earlier[place]))] });
      columns.push({ key: "change", kind: "figure", cell: (place) => this.changed(place) });
      byId("row-table").classList.add("compared");
    }
    this.columns = columns.map((column) => ({ ...column, title: words[column.key] }));
    this.table = new Table(byId("row-table"), this.columns, (place) => this.selected(place), (key) => this.sortBy(key));
  },

  line(place) {
    return source.line(place, () => this.redraw());
  },

  // Draws once, however many files arrive before the next picture.
  redraw() {
    if (this.drawing) return;
    this.drawing = true;
    requestAnimationFrame(() => {
      this.drawing = false;
      this.table.draw();
    });
  },

  changed(place) {
    const change = this.scores[place] - this.earlier[place];
    if (Number.isNaN(change)) return ["–"];
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
    if (data.all && key === "question") return;
    const state = address.read();
    const down = state.sort === key && !state.down ? "1" : null;
    this.change({ sort: key, down });
  },

  change(changes) {
    address.write({ page: "rows", ...changes });
    this.follow();
  },

  selected(place) {
    address.write({ page: "rows", row: place === null ? null : source.number(place) });
    this.detail(place);
  },

  detail(place) {
    this.requested = place;
    if (place === null) showDetail(null);
    else source.whole(place, (row) => this.requested === place && showDetail(row));
  },

  // What the address says, shown when its scores are there.
  follow() {
    const state = address.read();
    const chosenMetric = Number(state.metric ?? 0);
    this.metric = Number.isInteger(chosenMetric) && chosenMetric >= 0 && chosenMetric < data.metrics.length ? chosenMetric : 0;
    byId("row-metric").value = this.metric;
    byId("row-stratum").value = data.strata[state.stratum] ? state.stratum : "";
    for (const [name, key] of [["search", "find"], ["least", "least"], ["most", "most"]]) {
      if (byId(`row-${name}`).value !== (state[key] ?? "")) byId(`row-${name}`).value = state[key] ?? "";
    }
    const hash = location.hash;
    if (!data.metrics.length) this.show([], state);
    else source.ready(this.metric, () => location.hash === hash && this.choose(state));
  },

  choose(state) {
    this.scores = source.score(this.metric);
    this.earlier = data.compared ? source.before(this.metric) : this.scores;
    const stratum = data.strata[state.stratum];
    let places = stratum ? Uint32Array.from(stratum.rows) : source.every();
    const bound = (text, other) => (text === undefined || Number.isNaN(Number(text)) ? other : Number(text));
    const least = bound(state.least, -Infinity), most = bound(state.most, Infinity);
    const low = this.rounded(least), high = this.rounded(most);
    if (least > -Infinity || most < Infinity) places = places.filter((place) => this.scores[place] >= low && this.scores[place] <= high);
    const search = (state.find ?? "").toLowerCase().trim();
    if (!search) this.show(places, state);
    else source.find(search, places, (some) => address.read().find === state.find && this.show(some, state));
  },

  // The bound in the precision of the scores that it is compared with.
  rounded(bound) {
    return data.all?.after[this.metric] === "f4" ? Math.fround(bound) : bound;
  },

  show(places, state) {
    const stratum = data.strata[state.stratum];
    const down = Boolean(state.down);
    if (["score", "baseline", "change"].includes(state.sort)) places = sortedPlaces(this.values(state.sort), places, down);
    else if (state.sort === "id") places = this.byText(places, (place) => source.number(place), down);
    else if (state.sort === "question" && !data.all) places = this.byText(places, (place) => source.line(place).text, down);
    const titles = this.columns.map((column) => (column.key === "score" && data.metrics.length ? data.metrics[this.metric].name : column.title));
    this.table.chosen = -1;
    this.table.show(places, titles, state.sort, down);
    byId("row-count").textContent = places.length ? this.countText(places.length, stratum) : words.nothing;
    const row = state.row === undefined ? NaN : Number(state.row);
    const chosen = Number.isNaN(row) ? -1 : places.findIndex((place) => source.number(place) === row);
    this.table.select(chosen, false);
    this.detail(chosen < 0 ? null : places[chosen]);
  },

  values(key) {
    if (key === "score") return this.scores;
    return key === "baseline" ? this.earlier : this.scores.map((score, at) => score - this.earlier[at]);
  },

  byText(places, key, down) {
    const order = (a, b) => (a[0] < b[0] ? -1 : a[0] > b[0] ? 1 : 0);
    const keyed = Array.from(places, (place, at) => [key(place), at, place]);
    keyed.sort((a, b) => (down ? -order(a, b) : order(a, b)) || a[1] - b[1]);
    return Uint32Array.from(keyed, (entry) => entry[2]);
  },

  countText(shown, stratum) {
    return `${words.shows} ${count(shown)} ${words.of} ${count(stratum ? stratum.n : data.n_rows)}.`;
  },
};

// A score as it is printed: float32 holds seven digits.
const shownScore = (value) => (Number.isFinite(value) ? Number(value.toPrecision(6)) : null);
