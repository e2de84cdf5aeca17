/**
 * Wraps a listener of an event: what it throws is handed to `failed`. Thrown from a listener, an error would end the
 * process, and with it the requests of all other callers.
 */
export function contained<Arguments extends unknown[]>(
  listener: (...given: Arguments) => void,
  failed: (error: unknown, ...given: Arguments) => void,
): (...given: Arguments) => void {
  return (...given) => {
    try {
      listener(...given);
    } catch (error) {
      failed(error, ...given);
    }
  };
}
