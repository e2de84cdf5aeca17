/** A path of this app from an address; `/` for anything that leads elsewhere. */
export function safePath(text: string | undefined): string {
  if (!text?.startsWith('/')) return '/';
  try {
    const url = new URL(text, location.origin);
    return url.origin === location.origin ? url.pathname + url.search : '/';
  } catch {
    return '/';
  }
}
