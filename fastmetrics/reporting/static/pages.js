// Which page is open, light and dark, and the start of all.
const PAGES = [...document.querySelectorAll("nav a")].map((link) => link.dataset.page);

const system = matchMedia("(prefers-color-scheme: dark)");
let chosenTheme = null;

function openPage() {
  const state = address.read();
  const open = PAGES.includes(state.page) ? state.page : PAGES[0];
  for (const name of PAGES) byId(name).classList.toggle("open", name === open);
  for (const link of document.querySelectorAll("nav a")) {
    if (link.dataset.page === open) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  chosenTheme = state.theme ?? chosenTheme;
  if (chosenTheme) address.write({ theme: chosenTheme });
  setTheme(chosenTheme ? chosenTheme === "dark" : system.matches);
  if (open === "rows") rowsPage.follow();
}

function setTheme(dark) {
  const theme = dark ? "dark" : "light";
  if (document.documentElement.dataset.theme === theme) return;
  document.documentElement.dataset.theme = theme;
  byId("theme").setAttribute("aria-pressed", String(dark));
}

// A link within the page: one to a page keeps the state of the rows, one to rows brings its own; both keep the theme.
function followLink(event) {
  const link = event.target.closest?.('a[href^="#page="]');
  if (!link || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
  event.preventDefault();
  const own = Object.fromEntries(new URLSearchParams(link.getAttribute("href").slice(1)));
  const before = address.read();
  address.go(link.dataset.page ? { ...before, ...own } : { ...own, theme: before.theme });
  openPage();
  const part = byId(link.dataset.at);
  if (part) part.scrollIntoView();
  else if (!link.dataset.page) scrollTo(0, 0);
}

// The open page is printed, with what is folded in it but lists of names, and the rows, which are listed when their page is first opened.
const unfolded = [];
addEventListener("beforeprint", () => {
  if (!rowsPage.order) rowsPage.follow();
  unfolded.push(...document.querySelectorAll("details:not([open], .more)"));
  for (const part of unfolded) part.open = true;
  // the list itself says how many of its rows are printed
  byId("row-count").hidden = rowsPage.table.rows.length > MOST_PRINTED;
});
addEventListener("afterprint", () => {
  for (const part of unfolded.splice(0)) part.open = false;
  byId("row-count").hidden = false;
});

document.documentElement.classList.add("scripted");
system.addEventListener("change", openPage);
byId("theme").addEventListener("click", () => {
  chosenTheme = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  address.write({ theme: chosenTheme });
  setTheme(chosenTheme === "dark");
});
document.addEventListener("click", followLink);
for (const part of document.querySelectorAll("[data-whole]")) part.textContent = data.metadata[part.dataset.whole];
rowsPage.start();
points.start();
charts.start();
history.scrollRestoration = "manual";
addEventListener("hashchange", openPage);
addEventListener("popstate", (event) => {
  // where the step back was left is kept before the page is drawn, which may change the address in place
  const top = event.state?.top;
  openPage();
  if (top !== undefined) scrollTo(0, top);
});
openPage();
