// Which page is open, light and dark, and the start of all.
const PAGES = [...document.querySelectorAll("nav a")].map((link) => link.dataset.page);

function openPage() {
  const requested = address.read().page;
  const open = PAGES.includes(requested) ? requested : PAGES[0];
  for (const name of PAGES) byId(name).classList.toggle("open", name === open);
  for (const link of document.querySelectorAll("nav a")) {
    if (link.dataset.page === open) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (open === "rows") rowsPage.follow();
}

function setTheme(dark) {
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  byId("theme").setAttribute("aria-pressed", String(dark));
  charts.redraw();
}

document.documentElement.classList.add("scripted");
const system = matchMedia("(prefers-color-scheme: dark)");
setTheme(system.matches);
system.addEventListener("change", () => setTheme(system.matches));
byId("theme").addEventListener("click", () => setTheme(document.documentElement.dataset.theme !== "dark"));
rowsPage.start();
points.start();
charts.start();
addEventListener("hashchange", openPage);
openPage();
