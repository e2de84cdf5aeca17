/** A value, or the promise of one, which is a Promise and nothing like it, where something has to be waited for. */
export type Awaitable<Value> = Value | Promise<Value>;

/** Goes on at once with what is there: of most requests' steps none waits, and a promise costs as much as many steps. */
export function andThen<Value, Next>(
  value: Awaitable<Value>,
  step: (value: Value) => Awaitable<Next>,
): Awaitable<Next> {
  return value instanceof Promise ? value.then(step) : step(value);
}
