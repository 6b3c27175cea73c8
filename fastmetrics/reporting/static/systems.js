// The systems of a report: which one the rows show, which one it is compared with, and what a row has of each.
const systems = {
  names: data.systems,
  base: data.shown[0],
  main: data.shown[1],
  further: data.systems.map((_, at) => at).filter((at) => !data.shown.includes(at)),

  start() {
    for (const key of ["system", "against"]) {
      const choice = byId(`row-${key}`);
      if (key === "against") choice.append(element("option", { value: "none" }, words.no_other));
      this.names.forEach((name, at) => choice.append(element("option", { value: at }, name)));
      choice.parentElement.hidden = this.names.length < 2;
      choice.addEventListener("change", () => rowsPage.change({ [key]: choice.value, stratum: null, kind: null, sort: null, down: null }));
    }
  },

  // The system of the address and the one that it is compared with, which is null for none.
  chosen(state) {
    const place = (text, other) => (this.names[text] === undefined ? other : Number(text));
    const system = place(state.system, this.main);
    const against = state.against === "none" ? null : place(state.against, this.base);
    return { system, against: against === system ? null : against };
  },

  scores(row, system) {
    if (system === this.main) return row.s;
    return system === this.base ? row.b : row.x?.[this.further.indexOf(system)];
  },

  answer(row, system) {
    if (system === this.main) return row.t.answer;
    return (system === this.base ? row.other : row.o?.find(([name]) => name === this.names[system])?.[1]) ?? undefined;
  },

  // Whether its answers are known, so that a row without one has none.
  isAnswering(system) {
    return data.answering.includes(this.names[system]);
  },

  // The systems in the order of a row's detail: the chosen two first.
  inOrder({ system, against }) {
    const first = against === null ? [system] : [system, against];
    return [...first, ...upTo(this.names.length)].filter((at, place, every) => every.indexOf(at) === place);
  },

  answerTitle(system) {
    return this.names.length > 1 ? `${words.answer}: ${this.title(system)}` : words.answer;
  },

  title(system) {
    return system === this.base ? `${this.names[system]} (${words.baseline})` : this.names[system];
  },
};
