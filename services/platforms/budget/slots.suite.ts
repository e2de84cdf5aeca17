import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { Purpose } from '#kit/context.ts';
import type { Caller, CallSlots } from './slots.ts';

const caller = (guildId: string, purpose: Purpose = 'caller'): Caller => ({ id: randomUUID(), guildId, purpose });

/** The clock that an implementation of CallSlots uses. */
interface Time {
  /** Returns milliseconds since any fixed point in time. */
  now(): number;
  sleep(milliseconds: number): Promise<unknown>;
}

export const REAL_TIME: Time = { now: () => performance.now(), sleep };

/**
 * Tests an implementation of CallSlots with windows of a second. `create` returns an implementation whose slots are all
 * free.
 */
export function callSlotsSuite(create: (count: number) => Promise<CallSlots>, time = REAL_TIME): void {
  /** Creates call slots that are all occupied by `holders`. */
  async function occupied(count: number): Promise<{ slots: CallSlots; holders: Caller[] }> {
    const slots = await create(count);
    const holders = Array.from({ length: count }, (_, index) => caller(`holder ${index}`));
    for (const holder of holders) expect(await slots.acquire(holder)).toBe(0);
    return { slots, holders };
  }

  /** Releases the holders' slots; returns the waiting callers in the order in which they get a slot. */
  async function acquisitionOrder(slots: CallSlots, holders: Caller[], waiting: Caller[]): Promise<Caller[]> {
    const order: Caller[] = [];
    const left = new Set(waiting);
    for (const holder of holders) await slots.release(holder);
    const until = time.now() + 15_000;
    while (left.size > 0 && time.now() < until) {
      await time.sleep(20);
      for (const one of left) {
        if ((await slots.acquire(one)) > 0) continue;
        order.push(one);
        left.delete(one);
        await slots.release(one);
      }
    }
    return order;
  }

  test('as many calls as there are slots are allowed immediately, another one a window after a response', async () => {
    const { slots, holders } = await occupied(3);
    const late = caller('1');
    expect(await slots.acquire(late)).toBeGreaterThan(0);
    const respondedAt = time.now();
    await acquisitionOrder(slots, holders.slice(0, 1), [late]);
    expect(time.now() - respondedAt).toBeGreaterThan(1_000);
  });

  test('a slot stays occupied while its call has no response', async () => {
    const { slots } = await occupied(2);
    await time.sleep(1_200);
    expect(await slots.acquire(caller('1'))).toBeGreaterThan(0);
  });

  test('a waiting caller tries again within a window, or sooner if a slot becomes free sooner', async () => {
    const { slots, holders } = await occupied(2);
    for (const holder of holders) await slots.release(holder);
    const wait = await slots.acquire(caller('1'));
    expect(wait).toBeGreaterThanOrEqual(10);
    expect(wait).toBeLessThanOrEqual(1_100);
  });

  test("callers' calls come before background calls, and background calls before jobs", async () => {
    const { slots, holders } = await occupied(1);
    const waiting = [caller('1', 'job'), caller('2', 'background'), caller('1'), caller('3')];
    for (const one of waiting) expect(await slots.acquire(one)).toBeGreaterThan(0);
    const order = await acquisitionOrder(slots, holders, waiting);
    expect(order.map(({ purpose }) => purpose)).toEqual(['caller', 'caller', 'background', 'job']);
  });

  test('jobs leave a fifth of the slots free', async () => {
    const slots = await create(10);
    const waits = [];
    for (let index = 0; index < 10; index++) waits.push(await slots.acquire(caller(`${index}`, 'job')));
    expect(waits.filter((wait) => wait === 0)).toHaveLength(8);
    expect(await slots.acquire(caller('1'))).toBe(0);
    expect(await slots.acquire(caller('1'))).toBe(0);
    expect(await slots.acquire(caller('1'))).toBeGreaterThan(0);
  });

  test('background calls leave a tenth of the slots free, and may use a tenth that jobs leave free', async () => {
    const slots = await create(10);
    for (let index = 0; index < 8; index++) expect(await slots.acquire(caller(`${index}`, 'job'))).toBe(0);
    expect(await slots.acquire(caller('1', 'job'))).toBeGreaterThan(0);
    expect(await slots.acquire(caller('1', 'background'))).toBe(0);
    expect(await slots.acquire(caller('1', 'background'))).toBeGreaterThan(0);
    expect(await slots.acquire(caller('1'))).toBe(0);
  });

  test('a guild with many waiting calls delays another guild by one call at most', async () => {
    const { slots, holders } = await occupied(1);
    const many = Array.from({ length: 5 }, () => caller('many'));
    const few = caller('few');
    for (const one of [...many, few]) expect(await slots.acquire(one)).toBeGreaterThan(0);
    const order = await acquisitionOrder(slots, holders, [...many, few]);
    expect(order.indexOf(few)).toBeLessThanOrEqual(1);
    expect(order.filter(({ guildId }) => guildId === 'many')).toEqual(many);
  }, 20_000);

  test('callers that released or stopped trying do not delay others', async () => {
    const { slots, holders } = await occupied(1);
    const released = caller('1');
    const died = caller('2');
    for (const one of [released, died]) await slots.acquire(one);
    await slots.release(released);
    const last = caller('3');
    expect(await slots.acquire(last)).toBeGreaterThan(0);
    // The caller that stopped waiting is skipped as soon as it should have tried again.
    expect(await acquisitionOrder(slots, holders, [last])).toEqual([last]);
  });
}
