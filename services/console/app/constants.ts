/** As in proto/console/api.ts, which the app cannot import because it brings the schema library with it. */
export const CONSOLE_PREFIX = '/console';
export const CSRF_HEADER = 'x-csrf-token';
