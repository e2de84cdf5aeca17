import { expect, test } from 'vitest';
import { Slots } from './slots.ts';

const { signal } = new AbortController();
const turns = () => new Promise((resolve) => setImmediate(resolve));

/** Acquires a slot and adds the name to `order` when it is granted. */
function acquire(slots: Slots, host: string, order: string[], abort = signal): Promise<void> {
  return slots.acquire(host, abort).then(() => void order.push(host));
}

test('deliveries to a host that has no free slot do not delay those to other hosts', async () => {
  const slots = new Slots({ max: 3, maxPerHost: 2, maxWaiting: 10 });
  const order: string[] = [];
  const all = ['a', 'a', 'a', 'b', 'c'].map((host) => acquire(slots, host, order));
  await turns();
  expect(order).toEqual(['a', 'a', 'b']);
  slots.release('b');
  await turns();
  expect(order).toEqual(['a', 'a', 'b', 'c']);
  slots.release('a');
  await Promise.all(all);
  expect(order).toEqual(['a', 'a', 'b', 'c', 'a']);
});

test('more waiting deliveries than the maximum fail immediately, and are not blamed on the endpoint', async () => {
  const slots = new Slots({ max: 1, maxPerHost: 1, maxWaiting: 1 });
  await slots.acquire('a', signal);
  const waiting = slots.acquire('a', signal);
  await expect(slots.acquire('b', signal)).rejects.toMatchObject({ isOurs: true });
  slots.release('a');
  await waiting;
});

test('a delivery that is aborted while it waits takes no slot', async () => {
  const slots = new Slots({ max: 1, maxPerHost: 1, maxWaiting: 5 });
  const order: string[] = [];
  await slots.acquire('a', signal);
  const controller = new AbortController();
  const aborted = acquire(slots, 'b', order, controller.signal);
  const next = acquire(slots, 'c', order);
  controller.abort();
  slots.release('a');
  await expect(aborted).rejects.toMatchObject({ isOurs: true });
  await next;
  expect(order).toEqual(['c']);
  slots.release('c');
  await slots.acquire('d', signal);
});
