// The state of the page stands in its address: page, metric, filters, order, search, row and theme.
const address = {
  read() {
    return Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  },

  hash(state) {
    const entries = Object.entries(state).filter(([, value]) => value !== null && value !== "" && value !== undefined);
    return "#" + new URLSearchParams(entries).toString();
  },

  // Changes a part of the state in place: Back does not return to what was before it.
  write(changes) {
    const hash = this.hash({ ...this.read(), ...changes });
    if (hash !== location.hash) history.replaceState(history.state, "", hash);
  },

  // A step that Back takes back, to the place where the page was left.
  go(state) {
    const hash = this.hash(state);
    if (hash === location.hash) return;
    history.replaceState({ top: scrollY }, "");
    history.pushState(null, "", hash);
  },
};
