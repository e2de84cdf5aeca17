/**
 * Returns the figure of a part that was not checked because something is not installed. Throws unless ALLOW_MISSING=true: otherwise
 * a test without the part would pass.
 */
export function notChecked(reason: string): string {
  if (process.env['ALLOW_MISSING'] !== 'true') throw new Error(`${reason}; ALLOW_MISSING=true skips what is missing`);
  return `NOT CHECKED: ${reason}`;
}
