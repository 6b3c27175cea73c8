// One row in full: question, answer, reference, the baseline's answer, contexts, ids and scores.
function titled(title, ...parts) {
  return element("section", {}, element("h3", {}, title), ...parts);
}

// A text as it is, or on request as the Markdown or JSON that it is.
function plain(text) {
  if (byId("row-rendered").checked) return rendered(text);
  return element("p", { class: "text", dir: "auto" }, text);
}

function answerParts(row) {
  const texts = row.t;
  const reference = texts.reference?.[0];
  const shown = [];
  if (texts.answer !== undefined) {
    const anchors = texts.anchors ?? [], cites = texts.cites ?? [];
    const checked = anchors.length + cites.length > 0;
    const text = checked ? anchored(texts.answer, anchors, cites) : marked(texts.answer, reference);
    if (byId("row-rendered").checked) return renderedParts(row);
    const signs = anchors.length ? ["supported", "unsupported", ...(anchors.some((anchor) => anchor[4]) ? ["apart"] : [])] : [];
    if (reference && (!checked || row.other || row.o)) signs.push(null);
    signs.push(...["cited_supported", "cited_unsupported", "cited", "cited_nothing"].filter((state) => cites.some((mark) => mark[3] === state)));
    const legend = (name) => element("mark", { class: name?.startsWith("cited") ? `cite ${name}` : name }, words[name ?? "same_words"]);
    shown.push(titled(row.o ? `${words.answer}: ${data.system}` : words.answer, text, ...signs.map((name) => element("p", { class: "legend" }, legend(name)))));
  }
  if (row.other !== null && row.other !== undefined) {
    shown.push(titled(words.baseline_answer, marked(row.other, reference)));
  }
  for (const [system, answer] of row.o ?? []) shown.push(titled(`${words.answer}: ${system}`, marked(answer, reference)));
  for (const reference of texts.reference ?? []) shown.push(titled(words.reference, marked(reference, texts.answer)));
  return shown;
}

function renderedParts({ t, other, o }) {
  const others = [[words.baseline_answer, other ?? null], ...(o ?? []).map(([system, answer]) => [`${words.answer}: ${system}`, answer])];
  const texts = [[o ? `${words.answer}: ${data.system}` : words.answer, t.answer], ...others, ...(t.reference ?? []).map((text) => [words.reference, text])];
  return texts.filter(([, text]) => text !== null).map(([title, text]) => titled(title, rendered(text)));
}

// The columns that the run kept beside its scores and texts.
function keptList(row) {
  const lines = data.kept.map((name, at) => row.k[at] === null ? null : element("div", {}, element("dt", {}, name), element("dd", { class: "kept", dir: "auto" }, row.k[at])));
  return titled(words.kept_columns, element("dl", { class: "figures" }, ...lines));
}

// The words that the baseline's answer lost and gained.
function changeParts({ t, other }) {
  if (t.answer === undefined || other === null || other === undefined) return [];
  if (t.answer === other) return [element("p", { class: "note" }, words.same_answer)];
  const legend = element("p", { class: "legend" }, element("del", {}, words.deleted), " ", element("ins", {}, words.inserted));
  return [titled(words.answer_change, changedText(other, t.answer), legend)];
}

function idList(name, ids, relevant) {
  const relevantIds = new Set(relevant ?? []);
  const items = ids.map((id) => element("li", { class: relevantIds.has(id) ? "relevant" : null }, id));
  return titled(words[name], element("ul", { class: "ids" }, ...items));
}

function scoreList(row) {
  const lines = data.metrics.map((metric, at) => {
    const before = row.b ? ` (${figure(row.b[at])})` : "";
    return element("div", {}, element("dt", {}, metric.name), element("dd", {}, figure(row.s[at]) + before));
  });
  const name = row.b ? `${words.scores} (${words.baseline})` : words.scores;
  return titled(name, element("dl", { class: "figures" }, ...lines));
}

// What each judge wrote about the row: its score, why there is none, and its reason.
function judgeParts(row) {
  return row.j.map(([axis, score, status, reason]) => {
    const badge = status === null || status === "ok" ? null : element("span", { class: status === "identical" ? "badge" : "badge poor" }, status);
    const head = element("p", { class: "judged" }, element("bdi", {}, axis), " ", element("b", {}, figure(score)), " ", badge);
    return element("div", {}, head, reason === null ? null : plain(reason));
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
  const answers = answerParts(row);
  if (answers.length) parts.push(element("div", { class: "beside" }, ...answers), ...changeParts(row));
  if (row.j) parts.push(titled(words.judges, ...judgeParts(row)));
  if (Object.keys(texts).length === 0) parts.push(element("p", { class: "note" }, words.no_texts));
  if (texts.contexts?.length) {
    const items = texts.contexts.map((context) => element("li", {}, plain(context)));
    const more = texts.contexts_more ? element("p", { class: "legend" }, `+${count(texts.contexts_more)}`) : null;
    parts.push(titled(words.contexts, element("ol", { class: "passages" }, ...items), more));
  }
  if (texts.retrieved_ids?.length) parts.push(idList("retrieved_ids", texts.retrieved_ids, texts.relevant_ids));
  if (texts.relevant_ids?.length) parts.push(idList("relevant_ids", texts.relevant_ids));
  parts.push(scoreList(row));
  if (row.k?.some((value) => value !== null)) parts.push(keptList(row));
  parts.push(rowLabels.form(row));
  home.replaceChildren(...parts);
  home.scrollTop = 0;
}
