// A table of any length that draws only the lines that are seen.
// Browsers end an element at some millions of pixels: a longer table is scrolled in longer steps.
const LONGEST = 16_000_000;
// Paper has the first lines only, and says so.
const MOST_PRINTED = 100;

class Table {
  constructor(home, columns, high, onSelect, onSort) {
    this.home = home;
    this.columns = columns;
    this.high = high;
    this.onSelect = onSelect;
    this.rows = [];
    this.chosen = -1;
    this.steps = 1;
    this.top = element("div", { class: "top", role: "row", "aria-rowindex": 1 });
    this.heads = columns.map((column) => {
      const button = element("button", { type: "button" }, column.title);
      const head = element("div", { role: "columnheader", class: column.kind }, button);
      head.addEventListener("click", () => onSort(column.key));
      this.top.append(head);
      return head;
    });
    this.lines = element("div", { class: "lines", role: "rowgroup" });
    home.replaceChildren(element("div", { role: "rowgroup", class: "top" }, this.top), this.lines);
    home.setAttribute("aria-colcount", columns.length);
    home.addEventListener("scroll", () => this.draw(), { passive: true });
    home.addEventListener("keydown", (event) => this.key(event));
    new ResizeObserver(() => this.draw()).observe(home);
    for (const [name, printing] of [["beforeprint", true], ["afterprint", false]]) {
      addEventListener(name, () => {
        this.printing = printing;
        this.lines.style.height = printing ? "auto" : `${Math.min(this.rows.length * this.high, LONGEST)}px`;
        this.draw();
      });
    }
  }

  show(rows, titles, sorted, descending) {
    this.rows = rows;
    this.heads.forEach((head, at) => {
      const own = this.columns[at].key === sorted;
      head.title = titles[at];
      head.firstChild.textContent = titles[at] + (own ? (descending ? " ↓" : " ↑") : "");
      head.setAttribute("aria-sort", own ? (descending ? "descending" : "ascending") : "none");
    });
    this.home.setAttribute("aria-rowcount", rows.length + 1);
    const high = rows.length * this.high;
    this.lines.style.height = `${Math.min(high, LONGEST)}px`;
    this.steps = Math.max(1, high / LONGEST);
    this.home.scrollTop = 0;
    this.draw();
  }

  draw() {
    if (this.home.hidden) return void this.lines.replaceChildren();
    const above = this.home.scrollTop * this.steps;
    const first = this.printing ? 0 : Math.max(0, Math.floor(above / this.high) - 4);
    const many = this.printing ? MOST_PRINTED : Math.ceil(this.home.clientHeight / this.high) + 8;
    const last = Math.min(this.rows.length, first + many);
    const lines = [];
    for (let at = first; at < last; at++) lines.push(this.line(at, at * this.high - above + this.home.scrollTop));
    if (this.printing && last < this.rows.length) lines.push(element("p", { class: "note" }, `${words.shows} ${count(last)} ${words.of} ${count(this.rows.length)}`));
    this.lines.replaceChildren(...lines);
    const seen = this.chosen >= first && this.chosen < last;
    if (seen) this.home.setAttribute("aria-activedescendant", `line-${this.chosen}`);
    else this.home.removeAttribute("aria-activedescendant");
  }

  line(at, top) {
    const cells = this.columns.map((column) => {
      const [text, name, whole] = column.cell(this.rows[at]);
      return element("span", { role: "gridcell", class: `${column.kind} ${name ?? ""}`.trim(), title: whole ?? (column.kind === "name" ? text : null) }, text);
    });
    const settings = { id: `line-${at}`, role: "row", "aria-rowindex": at + 2, "aria-selected": at === this.chosen };
    const line = element("div", { ...settings, "aria-selected": String(at === this.chosen) }, ...cells);
    line.style.top = `${top}px`;
    line.addEventListener("click", () => this.select(at));
    return line;
  }

  select(at, notify = true) {
    this.chosen = at;
    if (at >= 0) {
      const place = at * this.high, room = this.home.clientHeight - this.high, above = this.home.scrollTop * this.steps;
      if (place < above) this.home.scrollTop = place / this.steps;
      else if (place + this.high > above + room) this.home.scrollTop = (place + this.high - room) / this.steps;
    }
    this.draw();
    if (notify) this.onSelect(at < 0 ? null : this.rows[at]);
  }

  key(event) {
    const page = Math.max(1, Math.floor(this.home.clientHeight / this.high) - 2);
    const last = this.rows.length - 1;
    const moves = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    if (!(event.key in moves) || last < 0) return;
    event.preventDefault();
    this.select(Math.min(last, Math.max(0, this.chosen + moves[event.key])));
  }
}
