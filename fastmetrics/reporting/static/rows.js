// The page of rows: chosen by stratum, segment, score, change and search, the worst first, and linked to.
const rowsPage = {
  start() {
    const strata = byId("row-stratum"), search = byId("row-search");
    data.metrics.forEach((metric, at) => byId("row-metric").append(element("option", { value: at }, metric.name)));
    strata.append(element("option", { value: "" }, words[data.all ? "all_rows" : "every_row"]));
    data.strata.forEach((stratum, at) => {
      const title = [words[stratum.kind], stratum.metrics.join(", ")].filter(Boolean).join(": ");
      strata.append(element("option", { value: at }, `${title} (${count(stratum.rows.length)} ${words.of} ${count(stratum.n)})`));
    });
    byId("row-segment").append(element("option", { value: "" }, words.every_segment));
    data.segments.forEach(({ name, n }, at) => byId("row-segment").append(element("option", { value: at }, `${name} (${count(n)})`)));
    byId("row-segment").parentElement.hidden = !data.segments.length;
    byId("row-metric").addEventListener("change", (event) => this.change({ metric: event.target.value, kind: null }));
    byId("row-segment").addEventListener("change", (event) => this.change({ segment: event.target.value }));
    strata.addEventListener("change", () => this.chooseStratum(strata.value));
    if (data.all) search.addEventListener("change", () => this.change({ find: search.value }));
    else search.addEventListener("input", () => this.narrow({ find: search.value }));
    for (const name of ["least", "most"]) byId(`row-${name}`).addEventListener("change", (event) => this.change({ [name]: event.target.value }));
    systems.start();
    rowsOut.start();
    // what is folded is seen where the address has some of it
    byId("row-more").open = ["stratum", "least", "most", "also"].some((key) => address.read()[key]);
    byId("row-side").parentElement.hidden = systems.names.length < 2;
    byId("row-side").addEventListener("change", (event) => this.change({ side: event.target.checked ? "1" : null }));
    this.columns = this.columnList().map((column) => ({ ...column, title: words[column.key] }));
    const wide = data.rows.reduce((most, row) => Math.max(most, shortId(row.id).length), data.all ? LONGEST_ID : 2);
    byId("row-table").style.setProperty("--id", `${wide + 1}ch`);
    const table = (home, columns, high) => {
      home.addEventListener("click", () => this.table.chosen >= 0 && this.seen());
      return new Table(home, columns, high, (place) => this.selected(place), (key) => this.sortBy(key));
    };
    this.table = this.list = table(byId("row-table"), this.columns, 36);
    this.side = table(byId("row-grid"), this.answerColumns(), 92);
    byId("row-grid").style.setProperty("--systems", systems.names.length);
  },

  columnList() {
    const columns = [
      { key: "id", kind: "name", cell: (place) => [shortId(this.line(place).id), "", this.line(place).id] },
      { key: "question", kind: "name", cell: (place) => [this.line(place).text] },
      { key: "score", kind: "figure", cell: (place) => [figure(shownScore(this.scores[place]))] },
    ];
    if (systems.names.length < 2) return columns;
    columns.push({ key: "baseline", kind: "figure of-pair before", cell: (place) => [figure(shownScore(this.earlier[place]))] });
    return [...columns, { key: "change", kind: "figure of-pair", cell: (place) => this.changed(place) }];
  },

  // Each row with the answers of all systems, which have the colour of the metric: blue is better, orange worse.
  answerColumns() {
    const answer = (at) => (place) => {
      const row = source.whole(place, () => this.redraw()), score = row && systems.scores(row, at)?.[this.metric];
      return [row ? `${figure(score)} · ${systems.answer(row, at) ?? words.no_answer}` : "…", heatName(this.metric, score)];
    };
    const question = { key: "question", kind: "name", title: words.question, cell: (place) => [`${shortId(this.line(place).id)} · ${this.line(place).text}`] };
    return [question, ...systems.names.map((title, at) => ({ key: `system ${at}`, kind: "name", title, cell: answer(at) }))];
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
    const sign = data.metrics[this.metric].better ? { improved: "gain", regressed: "loss" }[KINDS[this.kindsOf([place])[0]]] : "";
    return [signed(Number(change.toPrecision(6))), sign];
  },

  // Of each place its kind of change by number in KINDS; of a metric without a direction, more counts as improved.
  kindsOf(places) {
    const { scores, earlier } = this, compared = this.pair.against !== null, kinds = new Uint8Array(places.length);
    const [regressed, improved, unchanged, unscored, unpaired] = KINDS.keys();
    const [more, less] = data.metrics[this.metric]?.better === "lower" ? [regressed, improved] : [improved, regressed];
    for (let at = 0; at < places.length; at++) {
      const score = scores[places[at]], change = compared ? score - earlier[places[at]] : NaN;
      kinds[at] = score !== score ? unscored : change > 0 ? more : change < 0 ? less : change === 0 ? unchanged : unpaired;
    }
    return kinds;
  },

  chooseStratum(value) {
    const stratum = data.strata[value];
    const names = data.metrics.map((metric) => metric.name);
    const metric = stratum?.metrics.length ? names.indexOf(stratum.metrics[0]) : null;
    this.change({ stratum: value, system: null, against: null, sort: null, down: null, kind: null, ...(metric === null ? {} : { metric }) });
  },

  sortBy(key) {
    if (data.all && key === "question") return;
    const { sort, down } = this.order, system = key.match(/^system (\d+)$/)?.[1];
    if (system !== undefined) {
      const same = sort === "score" && this.pair.system === Number(system);
      return this.change({ system, sort: "score", down: same && !down ? "1" : null });
    }
    this.change({ sort: key, down: sort === key && !down ? "1" : null });
  },

  // A choice of rows, which Back takes back; the row that is open then is the first.
  change(changes) {
    address.go({ ...address.read(), page: "rows", row: null, ...changes });
    this.follow();
  },

  narrow(changes) {
    address.write({ page: "rows", row: null, ...changes });
    this.follow();
  },

  selected(place) {
    address.write({ page: "rows", row: place === null ? null : source.number(place) });
    this.detail(place);
  },

  // On a narrow screen the row that was tapped stands below the list.
  seen() {
    if (matchMedia("(max-width: 900px)").matches) byId("row-detail").scrollIntoView();
  },

  detail(place) {
    this.requested = place;
    if (place === null) showDetail(null);
    else {
      const shown = (row) => this.requested === place && showDetail(row), row = source.whole(place, shown);
      if (row) shown(row);
    }
  },

  // What the address says, shown when its scores are there.
  follow() {
    const state = address.read();
    const chosenMetric = Number(state.metric ?? data.first);
    this.metric = Number.isInteger(chosenMetric) && chosenMetric >= 0 && chosenMetric < data.metrics.length ? chosenMetric : data.first;
    byId("row-metric").value = this.metric;
    this.pair = systems.chosen(state);
    byId("row-system").value = this.pair.system;
    byId("row-against").value = this.pair.against ?? "none";
    byId("row-table").classList.toggle("compared", this.pair.against !== null);
    this.table = state.side && systems.names.length > 1 ? this.side : this.list;
    for (const one of [this.list, this.side]) one.home.hidden = one !== this.table;
    byId("row-side").checked = this.table === this.side;
    byId("row-stratum").value = data.strata[state.stratum] ? state.stratum : "";
    const segment = data.segments[state.segment] ? state.segment : "";
    byId("row-segment").value = segment;
    for (const [name, key] of [["search", "find"], ["least", "least"], ["most", "most"]]) {
      if (byId(`row-${name}`).value !== (state[key] ?? "")) byId(`row-${name}`).value = state[key] ?? "";
    }
    byId("row-rendered").checked = Boolean(state.rendered);
    const also = otherFilters(state.also), hash = location.hash;
    rowsOut.showFilters(also);
    if (!data.metrics.length) this.show([], state);
    else source.ready(this.pair, this.metric, also, segment !== "", () => location.hash === hash && this.choose({ ...state, segment, also }));
  },

  choose(state) {
    this.scores = source.score(this.metric, this.pair.system);
    this.earlier = this.pair.against === null ? this.scores : source.score(this.metric, this.pair.against);
    const stratum = data.strata[state.stratum];
    let places = stratum ? Uint32Array.from(stratum.rows) : source.every();
    if (state.segment) places = source.within(places, Number(state.segment));
    for (const filter of [...state.also, { metric: this.metric, least: state.least, most: state.most }]) places = this.within(places, filter);
    const search = (state.find ?? "").toLowerCase().trim();
    if (!search) this.show(places, state);
    else source.find(search, places, (some) => address.read().find === state.find && this.show(some, state));
  },

  // The places whose scores are within bounds, which have the precision of the scores that they are compared with.
  within(places, { metric, least, most }) {
    const bound = (text, other) => {
      const value = text === undefined || Number.isNaN(Number(text)) ? other : Number(text);
      return data.all?.after[metric] === "f4" ? Math.fround(value) : value;
    };
    const low = bound(least, -Infinity), high = bound(most, Infinity);
    if (low === -Infinity && high === Infinity) return places;
    const scores = metric === this.metric ? this.scores : source.score(metric, this.pair.system);
    return keptPlaces(places, (place) => scores[place] >= low && scores[place] <= high);
  },

  // The order of the address; without one, that of a stratum, else the worst first.
  orderOf(state) {
    if (this.columns.some((column) => column.key === state.sort)) return { sort: state.sort, down: Boolean(state.down) };
    if (data.strata[state.stratum] || !data.metrics.length) return { sort: null, down: false };
    const compared = this.pair.against !== null && this.earlier.some((score) => !Number.isNaN(score));
    return { sort: compared ? "change" : "score", down: data.metrics[this.metric].better === "lower" };
  },

  // What the order means: by score or change, of a metric with a direction from bad or good; else of the figures.
  orderText({ sort, down }) {
    if (!["score", "baseline", "change"].includes(sort)) return "";
    const { better } = data.metrics[this.metric];
    if (!better) return words[down ? "order_highest" : "order_lowest"];
    return words[`order_${sort === "change" ? "change" : "score"}_${down === (better === "lower") ? "worst" : "best"}`];
  },

  show(places, state) {
    const stratum = data.strata[state.stratum];
    this.order = this.orderOf(state);
    const { sort, down } = this.order;
    const kinds = this.kindsOf(places), kind = KINDS.indexOf(state.kind);
    rowsOut.filters(kinds, state.kind, data.metrics[this.metric]);
    if (kind >= 0) places = keptPlaces(places, (_, at) => kinds[at] === kind);
    if (["score", "baseline", "change"].includes(sort)) places = sortedPlaces(this.values(sort), places, down);
    else if (sort === "id") places = this.byText(places, (place) => source.number(place), down);
    else if (sort === "question" && !data.all) places = this.byText(places, (place) => source.line(place).text, down);
    const { system, against } = this.pair, several = systems.names.length > 1;
    const own = { score: several ? systems.names[system] : data.metrics[this.metric]?.name, baseline: systems.names[against] };
    const titles = this.table.columns.map((column) => own[column.key] ?? column.title);
    this.table.chosen = -1;
    this.table.show(places, titles, this.table === this.side && sort === "score" ? `system ${system}` : sort, down);
    byId("row-count").textContent = places.length ? this.countText(places.length, stratum) : words.nothing;
    byId("row-order").textContent = this.orderText(this.order);
    const row = state.row === undefined ? NaN : Number(state.row);
    const first = state.row === undefined && places.length ? 0 : -1;
    const chosen = Number.isNaN(row) ? first : places.findIndex((place) => source.number(place) === row);
    this.table.select(chosen, false);
    this.detail(chosen < 0 ? null : places[chosen]);
  },

  values(key) {
    if (key === "score") return this.scores;
    if (key === "baseline") return this.earlier;
    const changes = new Float64Array(this.scores.length);
    for (let at = 0; at < changes.length; at++) changes[at] = this.scores[at] - this.earlier[at];
    return changes;
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

// An id, whose end tells it from others as well as its beginning does: a long one loses its middle.
const LONGEST_ID = 18;
const shortId = (id) => (id.length <= LONGEST_ID ? id : `${id.slice(0, 7)}…${id.slice(-10)}`);

// The colour of a score: from the least to the greatest of all systems, turned where less is better.
function heatName(metric, score) {
  const { better } = data.metrics[metric], { edges } = data.histograms[metric];
  if (!better || !Number.isFinite(score) || !(edges.at(-1) > edges[0])) return "";
  const level = Math.round((6 * (score - edges[0])) / (edges.at(-1) - edges[0])) - 3;
  return `heat${better === "lower" ? -level : level}`;
}

// A score as it is printed: float32 holds seven digits.
const shownScore = (value) => (Number.isFinite(value) ? Number(value.toPrecision(6)) : null);
