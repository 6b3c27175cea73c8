// Where rows come from: the page itself, which holds a sample, or files beside it, which hold all.
// Both name rows by places, know scores by place, and give a row's line and all of it.
const MOST_LOADED = 500;

function bytesOf(plain) {
  const bytes = new Uint8Array(plain.length);
  for (let at = 0; at < plain.length; at++) bytes[at] = plain.charCodeAt(at);
  return bytes;
}

const decoded = (text, kind) => {
  const bytes = Uint8Array.fromBase64?.(text) ?? bytesOf(atob(text));
  return kind === "f8" ? new Float64Array(bytes.buffer) : new Float32Array(bytes.buffer);
};

// Files that are scripts, as a page that was opened from a disk may load no others.
const shards = {
  loaded: new Map(),
  waiting: new Map(),

  take(name, value) {
    const callbacks = this.waiting.get(name) ?? [];
    this.waiting.delete(name);
    this.loaded.delete(name);
    this.loaded.set(name, value);
    if (this.loaded.size > MOST_LOADED) this.loaded.delete(this.loaded.keys().next().value);
    callbacks.forEach((done) => done(value));
  },

  // Calls back with the contents of a file, at once if it is loaded; with nothing where the file is missing.
  load(name, done) {
    if (this.loaded.has(name)) return done(this.loaded.get(name));
    if (this.waiting.has(name)) return void this.waiting.get(name).push(done);
    this.waiting.set(name, [done]);
    const script = element("script", { src: `rows/${name}.js` });
    script.addEventListener("load", () => script.remove());
    script.addEventListener("error", () => {
      script.remove();
      const callbacks = this.waiting.get(name) ?? [];
      this.waiting.delete(name);
      byId("row-count").textContent = words.no_files;
      callbacks.forEach((done) => done(undefined));
    });
    document.head.append(script);
  },
};

const pageRows = {
  texts: [],
  // In the order of the table, in which equal scores stay; the page holds the most informative rows first.
  every: () => upTo(data.rows.length).sort((a, b) => data.rows[a].at - data.rows[b].at),
  score: (metric, system) => Float64Array.from(data.rows, (row) => systems.scores(row, system)?.[metric] ?? NaN),
  ready: (pair, metric, also, segmented, done) => done(),
  line: (place) => ({ id: data.rows[place].id, text: data.rows[place].t.question ?? data.rows[place].t.answer ?? "" }),
  whole: (place) => data.rows[place],
  number: (place) => data.rows[place].at,

  // All that a search looks through, collected at the first search.
  text(place) {
    if (this.texts[place] === undefined) {
      const row = data.rows[place];
      const texts = [...Object.values(row.t).flat(), ...(row.j ?? []).flat(), ...(row.o ?? []).flat()].filter((value) => typeof value === "string");
      this.texts[place] = [row.id, row.other ?? "", ...texts].join("\n").toLowerCase();
    }
    return this.texts[place];
  },

  find(search, places, done) {
    done(places.filter((place) => this.text(place).includes(search)));
  },

  within: (places, segment) => places.filter((place) => data.rows[place].g?.includes(segment)),

  // The rows as lines of a table: their texts, and all scores with the baseline's.
  sheet(places, done) {
    const names = data.metrics.map((metric) => metric.name);
    const { system, against } = rowsPage.pair, pair = against === null ? [system] : [system, against];
    const name = (at) => (at === system ? "" : ` (${at === systems.base ? words.baseline : systems.names[at]})`);
    const head = ["id", "question", ...pair.map(systems.answerTitle, systems), ...pair.flatMap((at) => names.map((metric) => metric + name(at)))];
    const line = (row) => [row.id, row.t.question, ...pair.map((at) => systems.answer(row, at)), ...pair.flatMap((at) => systems.scores(row, at) ?? names.map(() => null))];
    done([head, ...Array.from(places, (place) => line(data.rows[place]))]);
  },
};

const allRows = {
  columns: new Map(),
  rows: new Map(),
  searching: 0,

  every: () => upTo(data.all.n),
  score: (metric, system) => allRows.columns.get(allRows.file(metric, system)[0]) ?? new Float64Array(data.all.n).fill(NaN),

  // The file of a metric's scores by a system, and the kind of its numbers: none where the system has no such scores.
  file(metric, system) {
    if (system === systems.main) return [`score-${metric}`, data.all.after[metric]];
    if (system === systems.base) return [`before-${metric}`, data.all.before[metric]];
    const place = systems.further.indexOf(system);
    return [`other-${place}-${metric}`, data.all.others[place][metric]];
  },
  number: (place) => place,

  // Loads the scores of a metric and of those that filter, and keeps those of the last few.
  ready(pair, metric, also, segmented, done) {
    const scores = new Set([metric, ...also.map((filter) => filter.metric)]);
    const before = pair.against === null ? [] : [this.file(metric, pair.against)];
    const files = [...before, ...Array.from(scores, (at) => this.file(at, pair.system))].filter(([, kind]) => kind);
    if (segmented) for (let at = 0; at < data.all.segments; at++) files.push([`segment-${at}`, "f4"]);
    const missing = files.filter(([name]) => !this.columns.has(name));
    if (!missing.length) return done();
    let left = missing.length;
    const needed = new Set(files.map(([name]) => name));
    for (const name of [...this.columns.keys()].filter((name) => !needed.has(name))) {
      if (this.columns.size + missing.length > 8 + MOST_FILTERS + data.all.segments) this.columns.delete(name);
    }
    for (const [name, kind] of missing) {
      shards.load(name, (text) => {
        shards.loaded.delete(name);
        if (text !== undefined) this.columns.set(name, decoded(text, kind));
        if (--left) return;
        if (files.every(([name]) => this.columns.has(name)) || text === undefined) done();
        else this.ready(pair, metric, also, segmented, done);
      });
    }
  },

  within(places, segment) {
    const columns = Array.from({ length: data.all.segments }, (_, at) => this.columns.get(`segment-${at}`)).filter(Boolean);
    return keptPlaces(places, (place) => columns.some((codes) => codes[place] === segment));
  },

  // The rows as lines of a table: their ids, the beginnings of their questions, and the scores of the chosen metric.
  sheet(places, done) {
    const name = data.metrics[rowsPage.metric]?.name ?? "";
    const { against } = rowsPage.pair, compared = against !== null;
    const head = ["id", "question", name, ...(compared ? [`${name} (${against === systems.base ? words.baseline : systems.names[against]})`] : [])];
    const cells = (place) => [shownScore(rowsPage.scores[place]), ...(compared ? [shownScore(rowsPage.earlier[place])] : [])];
    const files = [...new Set(Array.from(places, (place) => Math.floor(place / data.all.lines)))];
    const lines = new Map();
    const next = (at) => {
      if (at === files.length) return done([head, ...Array.from(places, (place) => [...(lines.get(place) ?? [place, ""]), ...cells(place)])]);
      shards.load(`lines-${files[at]}`, (some) => {
        (some ?? []).forEach((line, within) => lines.set(files[at] * data.all.lines + within, line));
        setTimeout(() => next(at + 1));
      });
    };
    next(0);
  },

  line(place, drawn) {
    const file = `lines-${Math.floor(place / data.all.lines)}`;
    const line = shards.loaded.get(file)?.[place % data.all.lines];
    if (line) return { id: line[0], text: line[1] };
    shards.load(file, drawn);
    return { id: "…", text: "" };
  },

  // The whole row if it is loaded; else it is loaded, and then given to the callback.
  whole(place, done) {
    if (this.rows.has(place)) return this.rows.get(place);
    const { starts } = data.all;
    let low = 0, high = starts.length;
    while (high - low > 1) {
      const middle = (low + high) >> 1;
      if (starts[middle] <= place) low = middle;
      else high = middle;
    }
    shards.load(`texts-${low}`, (file) => {
      if (file === undefined) return;
      const at = place - starts[low], many = data.metrics.length;
      const scores = (text) => Array.from(decoded(text, data.all.each).subarray(at * many, (at + 1) * many), (score) => (Number.isFinite(score) ? score : null));
      this.name(place, (id) => {
        if (this.rows.size > MOST_LOADED) this.rows.clear();
        this.rows.set(place, { at: place, id, ...file.rows[at], s: scores(file.s), b: file.b === null ? undefined : scores(file.b), x: file.x?.map(scores) });
        done(this.rows.get(place));
      });
    });
  },

  name(place, done) {
    shards.load(`lines-${Math.floor(place / data.all.lines)}`, (lines) => done(lines?.[place % data.all.lines]?.[0] ?? String(place)));
  },

  // Looks through ids and the beginnings of questions, file after file, and calls back with the matches so far.
  find(search, places, done) {
    const own = ++this.searching, files = Math.ceil(data.all.n / data.all.lines), matches = new Set();
    let next = 0, left = files;
    const more = () => {
      if (own !== this.searching || next >= files) return;
      const file = next++;
      shards.load(`lines-${file}`, (lines) => {
        (lines ?? []).forEach(([id, text], at) => {
          if (`${id}\n${text}`.toLowerCase().includes(search)) matches.add(file * data.all.lines + at);
        });
        if (own !== this.searching) return;
        left--;
        if (left === 0) done(places.filter((place) => matches.has(place)));
        else if (left % 64 === 0) byId("row-count").textContent = `${words.searching} ${Math.round(100 - (100 * left) / files)} %`;
        more();
      });
    };
    for (let at = 0; at < 24; at++) more();
    if (!files) done(places);
  },
};

const source = data.all ? allRows : pageRows;
