// The current place of the page: `#/NAMESPACE/leases?prefix=..`, so that a link leads there and the browser's
// buttons go back.

const WHERE = /^#\/([a-z0-9-]{1,63})\/(leases|elections|tasks)(?:\?(.*))?$/;

/** Where the address leads; `null` if it leads nowhere. */
export function place() {
  const found = WHERE.exec(location.hash);
  if (!found) return null;
  const [, namespace, tab, query] = found;
  return { namespace, tab, query: new URLSearchParams(query) };
}

/** The address of a place. Empty parts are left out. */
export function address(namespace, tab, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const text = new URLSearchParams(given).toString();
  return `#/${namespace}/${tab}${text ? `?${text}` : ""}`;
}

export function go(to, { replace = false } = {}) {
  if (location.hash === to) return;
  if (replace) {
    history.replaceState(null, "", to);
    dispatchEvent(new HashChangeEvent("hashchange"));
  } else location.hash = to;
}
