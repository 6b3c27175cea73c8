// A chart as a file: SVG with the colours that it has on the page, or that drawn as PNG.
const DRAWN_STYLES = ["fill", "fill-opacity", "stroke", "stroke-width", "stroke-dasharray", "font-size", "font-weight", "font-family"];

function save(blob, name) {
  const link = element("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

const chartFiles = {
  buttons(home, name) {
    const button = (kind, action) => {
      const pressed = element("button", { type: "button", "aria-label": `${kind}: ${name}` }, kind);
      pressed.addEventListener("click", () => {
        if (!charts.drawn.has(home)) charts.draw(home);
        action();
      });
      return pressed;
    };
    const file = name.replace(/[^\p{L}\p{N}@._-]+/gu, "_").slice(0, 80) || "chart";
    const svg = () => save(new Blob([this.text(home)], { type: "image/svg+xml" }), `${file}.svg`);
    return element("div", { class: "files" }, button("SVG", svg), button("PNG", () => this.png(home, (blob) => save(blob, `${file}.png`))));
  },

  // The picture with its key above it, on the page's paper; each element states its own colours.
  text(home) {
    const source = home.querySelector("svg.drawn"), copy = source.cloneNode(true);
    const parts = [...source.querySelectorAll("*")];
    [...copy.querySelectorAll("*")].forEach((part, at) => this.styled(parts[at], part));
    const [, , wide, high] = source.getAttribute("viewBox").split(" ").map(Number);
    const keys = [...home.querySelectorAll(".keys span")].map((entry, at) => {
      const mark = entry.querySelector("path"), line = this.styled(mark, shape("path", { d: `M8 ${at * 18 + 12}H32` }));
      return shape("g", {}, line, this.styled(home.querySelector("svg.drawn text") ?? mark, shape("text", { x: 40, y: at * 18 + 16 }, entry.textContent.trim())));
    });
    const above = keys.length * 18;
    copy.replaceChildren(shape("g", { transform: `translate(0 ${above})` }, ...copy.childNodes));
    const paper = shape("rect", { width: wide, height: high + above, fill: getComputedStyle(document.body).backgroundColor });
    copy.prepend(paper, ...keys);
    for (const [name, value] of Object.entries({ viewBox: `0 0 ${wide} ${high + above}`, width: wide, height: high + above })) copy.setAttribute(name, value);
    return new XMLSerializer().serializeToString(copy);
  },

  styled(from, to) {
    const style = getComputedStyle(from);
    for (const name of DRAWN_STYLES) to.setAttribute(name, style.getPropertyValue(name));
    to.removeAttribute("class");
    return to;
  },

  png(home, done) {
    const text = this.text(home), picture = new Image();
    picture.addEventListener("load", () => {
      const canvas = element("canvas");
      [canvas.width, canvas.height] = [picture.width * 2, picture.height * 2];
      canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
      canvas.toBlob(done, "image/png");
    });
    picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  },
};
