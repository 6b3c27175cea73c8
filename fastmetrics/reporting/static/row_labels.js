// A rating and a comment for each row, kept by this browser, and downloaded as labels that fastmetrics validate reads.
const GRADES = [1, 2, 3, 4, 5];

const rowLabels = {
  key: `fastmetrics labels ${data.label_key}`,
  labels: {},

  start() {
    try {
      this.labels = JSON.parse(localStorage.getItem(this.key)) ?? {};
    } catch {
      // a browser that keeps nothing for pages, or something else under this name: labels last until the page is closed
    }
    byId("row-labels").addEventListener("click", () => this.download());
    this.count();
  },

  count() {
    const many = Object.keys(this.labels).length;
    byId("row-labels").textContent = `${words.labels_out} (${count(many)})`;
    byId("row-labels").disabled = !many;
  },

  set(row, changes) {
    const label = { id: row.key ? JSON.parse(row.key) : row.id, human: null, comment: "", ...this.labels[row.at], ...changes };
    if (label.human === null && !label.comment) delete this.labels[row.at];
    else this.labels[row.at] = label;
    try {
      localStorage.setItem(this.key, JSON.stringify(this.labels));
    } catch {
      byId("row-done").textContent = words.not_kept;
    }
    this.count();
  },

  // The grades as buttons, of which one can be pressed, and the comment.
  form(row) {
    const own = this.labels[row.at];
    const buttons = GRADES.map((grade) => element("button", { type: "button", "aria-pressed": String(own?.human === grade) }, String(grade)));
    buttons.forEach((button, at) => button.addEventListener("click", () => {
      const chosen = button.getAttribute("aria-pressed") !== "true";
      buttons.forEach((other) => other.setAttribute("aria-pressed", String(chosen && other === button)));
      this.set(row, { human: chosen ? GRADES[at] : null });
    }));
    const comment = element("textarea", { rows: 2, "aria-label": words.comment, placeholder: words.comment, maxlength: 4000 });
    comment.value = own?.comment ?? "";
    comment.addEventListener("change", () => this.set(row, { comment: comment.value.trim() }));
    const form = titled(words.rating, element("div", { class: "grades", role: "group", "aria-label": words.rating }, ...buttons), comment);
    form.className = "rate";
    return form;
  },

  download() {
    const lines = Object.values(this.labels).map((label) => `${JSON.stringify(label)}\n`);
    save(new Blob(lines, { type: "application/jsonl" }), "labels.jsonl");
  },
};
