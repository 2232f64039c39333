// What of a tab may leave the browser: the origin and the path of an ordinary web page. Nothing else of a URL is looked at twice.

/** The `{origin, path}` of a tab that may be reported, or null: private tabs, the browser's own pages, and URLs with credentials. */
export function pageOf(tab) {
  if (!tab || tab.incognito !== false || typeof tab.url !== "string") return null;
  let url;
  try {
    url = new URL(tab.url);
  } catch {
    return null;
  }
  if ((url.protocol !== "http:" && url.protocol !== "https:") || url.username || url.password) return null;
  return { origin: url.origin, path: url.pathname };
}
