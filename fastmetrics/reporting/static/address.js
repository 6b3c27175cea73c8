// The state of the page stands in its address: which page, metric, stratum, order, search and row.
const address = {
  read() {
    return Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  },
  write(changes, keep = true) {
    const state = { ...(keep ? this.read() : {}), ...changes };
    const entries = Object.entries(state).filter(([, value]) => value !== null && value !== "" && value !== undefined);
    const hash = "#" + new URLSearchParams(entries).toString();
    if (hash !== location.hash) history.replaceState(null, "", hash);
  },
};
