const MAX_LENGTH = 500;
const HOME = '/';
/** The origin only serves to parse paths; browsers resolve a path in the same way. */
const ORIGIN = 'https://console.invalid';
/** The paths of the console that are no pages; one of them starts a sign-in. */
const NO_PAGES = /^\/(?:api|console|assets)(?:\/|$)/;

/**
 * Returns the path of the app to which the browser returns after it has signed in, or `/` for everything that a browser
 * could resolve to another site, so that a link to the sign-in page cannot lead away from the console.
 */
export function safeReturnTo(path: string): string {
  // A backslash counts as a slash in browsers, and control characters and white space at the start are removed.
  const isPath = /^\/(?![/\\])[\x21-\x5b\x5d-\x7e]*$/.test(path) && path.length <= MAX_LENGTH;
  if (!isPath) return HOME;
  const url = URL.parse(path, ORIGIN);
  // `/..//host` and `/.//host` begin with two slashes once the dots are resolved.
  const isSame = url?.origin === ORIGIN && !url.pathname.startsWith('//');
  return isSame && !NO_PAGES.test(url.pathname) ? path : HOME;
}
