// One row in full: question, answer, reference, the baseline's answer, contexts, ids and scores.
function titled(title, ...parts) {
  return element("section", {}, element("h3", {}, title), ...parts);
}

// A text as it is, or on request as the Markdown or JSON that it is.
function plain(text) {
  if (byId("row-rendered").checked) return rendered(text);
  return element("p", { class: "text", dir: "auto" }, text);
}

// The answers of all systems, those of the chosen pair first, and the references, with the words that they share.
function answerParts(row, pair) {
  const raw = byId("row-rendered").checked, references = row.t.reference ?? [], own = systems.answer(row, pair.system);
  const shown = [];
  for (const system of systems.inOrder(pair)) {
    const answer = systems.answer(row, system);
    if (answer !== undefined) shown.push(titled(systems.answerTitle(system), raw ? rendered(answer) : marked(answer, references)));
    else if (systems.isAnswering(system)) shown.push(titled(systems.answerTitle(system), element("p", { class: "note" }, words.no_answer)));
  }
  const title = (at) => (references.length > 1 ? `${words.reference} ${at + 1}` : words.reference);
  references.forEach((text, at) => shown.push(titled(title(at), raw ? rendered(text) : marked(text, own === undefined ? [] : [own]))));
  if (!shown.length) return [];
  const beside = element("div", { class: "beside" }, ...shown);
  if (raw || !references.length) return [beside];
  const key = own === undefined ? words.same_words : `${words.same_words}; ${filled(words.same_words_reference, { system: systems.names[pair.system] })}`;
  return [beside, element("p", { class: "legend" }, words.marks, " ", element("mark", {}, key))];
}

// The numbers, dates, claims and citations of the report's own system's answer, against the contexts.
function checkedParts(row) {
  const { answer, anchors = [], cites = [] } = row.t;
  if (answer === undefined || byId("row-rendered").checked || anchors.length + cites.length === 0) return [];
  const signs = [];
  if (anchors.some((anchor) => anchor[2])) signs.push("supported");
  if (anchors.some((anchor) => !anchor[2] && !anchor[4])) signs.push("unsupported");
  if (anchors.some((anchor) => !anchor[2] && anchor[4])) signs.push("apart");
  signs.push(...["cited_supported", "cited_unsupported", "cited", "cited_nothing"].filter((state) => cites.some((mark) => mark[3] === state)));
  const name = systems.names.length > 1 ? `${words.checked}: ${systems.names[systems.main]}` : words.checked;
  return [titled(name, anchored(answer, anchors, cites), legendOf(signs))];
}

function legendOf(signs) {
  const mark = (name) => element("mark", { class: name.startsWith("cited") ? `cite ${name}` : name }, words[name]);
  return element("p", { class: "legend" }, words.marks, ...signs.map(mark).flatMap((sign) => [" ", sign]));
}

// The columns that the run kept beside its scores and texts: traces, tool calls and long texts are folded.
const LONG_VALUE = 160;

function keptList(row) {
  const isLong = (value) => value.length > LONG_VALUE || /^[[{]./.test(value), known = [...(row.t.calls ?? []), ...data.kept.map((name, at) => [name, row.k?.[at] ?? null])].filter(([, value]) => value !== null);
  const lines = known.filter(([, value]) => !isLong(value)).map(([name, value]) => element("div", {}, element("dt", {}, name), element("dd", { class: "kept", dir: "auto" }, value)));
  const folded = known.filter(([, value]) => isLong(value)).map(([name, value]) => whole(name, value));
  return titled(words.kept_columns, element("dl", { class: "figures" }, ...lines), ...folded);
}

// The words that the answer of the compared system lost and gained.
function changeParts(row, { system, against }) {
  const before = against === null ? undefined : systems.answer(row, against), after = systems.answer(row, system);
  if (before === undefined || after === undefined) return [];
  if (before === after) return [element("p", { class: "note" }, words.same_answer)];
  const legend = element("p", { class: "legend" }, element("del", {}, words.deleted), " ", element("ins", {}, words.inserted));
  return [titled(`${words.answer_change}: ${systems.names[against]} → ${systems.names[system]}`, changedText(before, after), legend)];
}

function idList(name, ids, relevant) {
  const relevantIds = new Set(relevant ?? []);
  const items = ids.map((id) => element("li", { class: relevantIds.has(id) ? "relevant" : null }, id));
  return titled(words[name], element("ul", { class: "ids" }, ...items));
}

function scoreList(row, { system, against }) {
  const own = systems.scores(row, system), earlier = against === null ? undefined : systems.scores(row, against);
  const lines = data.metrics.map((metric, at) => {
    const before = earlier ? ` (${figure(earlier[at])})` : "";
    return element("div", {}, element("dt", {}, metric.name), element("dd", {}, figure(own?.[at]) + before));
  });
  const several = systems.names.length > 1 ? `: ${systems.names[system]}` : "";
  const name = earlier ? ` (${systems.title(against)})` : "";
  return titled(words.scores + several + name, element("dl", { class: "figures" }, ...lines));
}

// A long text under its name, folded.
function whole(name, text) {
  return element("details", {}, element("summary", {}, element("bdi", {}, name)), rendered(text));
}

// What each judge wrote about the row: its score, why there is none, and its reason.
function judgeParts(row) {
  return row.j.map(([axis, score, status, reason, reply, trace]) => {
    const badge = status === null || status === "ok" ? null : element("span", { class: status === "identical" ? "badge" : "badge poor" }, status);
    const head = element("p", { class: "judged" }, element("bdi", {}, axis), " ", element("b", {}, figure(score)), " ", badge);
    const folded = [["reply", reply], ["trace", trace]].map(([name, text]) => (text ? whole(words[name], text) : null));
    return element("div", {}, head, reason === null ? null : plain(reason), ...folded);
  });
}

function showDetail(row) {
  const home = byId("row-detail");
  if (row === null) {
    home.replaceChildren(element("p", { class: "note" }, words.no_row));
    return;
  }
  const texts = row.t;
  const parts = [element("h2", {}, element("bdi", {}, row.id))];
  if (row.g) parts.push(element("p", { class: "note" }, element("bdi", {}, row.g.map((at) => data.segments[at].name).join(" · "))));
  if (texts.question !== undefined) parts.push(titled(words.question, plain(texts.question)));
  parts.push(...answerParts(row, rowsPage.pair), scoreList(row, rowsPage.pair), ...changeParts(row, rowsPage.pair), ...checkedParts(row));
  if (row.j) parts.push(titled(words.judges, ...judgeParts(row)));
  if (Object.keys(texts).length === 0) parts.push(element("p", { class: "note" }, words.no_texts));
  if (texts.contexts?.length) {
    const items = texts.contexts.map((context) => element("li", {}, plain(context)));
    const more = texts.contexts_more ? element("p", { class: "legend" }, `+${count(texts.contexts_more)}`) : null;
    parts.push(titled(words.contexts, element("ol", { class: "passages" }, ...items), more));
  }
  if (texts.retrieved_ids?.length) parts.push(idList("retrieved_ids", texts.retrieved_ids, texts.relevant_ids));
  if (texts.relevant_ids?.length) parts.push(idList("relevant_ids", texts.relevant_ids));
  if (texts.calls || row.k?.some((value) => value !== null)) parts.push(keptList(row));
  // ratings are of the report's own system, to whose ids validate joins them
  if (rowsPage.pair.system === systems.main) parts.push(rowLabels.form(row));
  home.replaceChildren(...parts);
  home.scrollTop = 0;
}
