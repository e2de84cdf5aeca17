/**
 * Wraps an event listener and passes its errors to `failed`. An error thrown from a listener would end the process and
 * with it the requests of all other clients.
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
