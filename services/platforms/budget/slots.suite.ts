import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { Purpose } from '#kit/context.ts';
import type { Caller, Turns } from './slots.ts';

const caller = (guildId: string, purpose: Purpose = 'caller'): Caller => ({ id: randomUUID(), guildId, purpose });

/** The time that an implementation goes by. */
interface Time {
  /** Milliseconds, from whenever. */
  now(): number;
  sleep(milliseconds: number): Promise<unknown>;
}

const REAL: Time = { now: () => performance.now(), sleep };

/** Holds an implementation to what turns are; `create` gives one without any places taken. */
export function turnsSuite(create: (places: number) => Promise<Turns>, time = REAL): void {
  /** Lets through so many, whose places stay taken. */
  async function filled(places: number): Promise<{ turns: Turns; held: Caller[] }> {
    const turns = await create(places);
    const held = Array.from({ length: places }, (_, index) => caller(`holder ${index}`));
    for (const one of held) expect(await turns.take(one)).toBe(0);
    return { turns, held };
  }
  /** Lets all of them ask until each has had its turn, with places that come free one by one; the order in which. */
  async function inOrder(turns: Turns, held: Caller[], waiting: Caller[]): Promise<Caller[]> {
    const order: Caller[] = [];
    const left = new Set(waiting);
    for (const one of held) await turns.leave(one.id);
    const until = time.now() + 15_000;
    while (left.size > 0 && time.now() < until) {
      await time.sleep(20);
      for (const one of left) {
        if ((await turns.take(one)) > 0) continue;
        order.push(one);
        left.delete(one);
        await turns.leave(one.id);
      }
    }
    return order;
  }

  test('as many calls as there are places go at once, and one more when a window has passed since an answer', async () => {
    const { turns, held } = await filled(3);
    const late = caller('1');
    expect(await turns.take(late)).toBeGreaterThan(0);
    const answered = time.now();
    await inOrder(turns, held.slice(0, 1), [late]);
    expect(time.now() - answered).toBeGreaterThan(1_000);
  });

  test('a place whose call is not answered stays taken', async () => {
    const { turns } = await filled(2);
    await time.sleep(1_200);
    expect(await turns.take(caller('1'))).toBeGreaterThan(0);
  });

  test('who has had to wait asks again after at most a window, and knows of a place that comes free sooner', async () => {
    const { turns, held } = await filled(2);
    await turns.leave(held[0]?.id ?? '');
    await turns.leave(held[1]?.id ?? '');
    const wait = await turns.take(caller('1'));
    expect(wait).toBeGreaterThanOrEqual(10);
    expect(wait).toBeLessThanOrEqual(1_100);
  });

  test('a call that someone waits for overtakes what runs in the background, and that overtakes jobs', async () => {
    const { turns, held } = await filled(1);
    const waiting = [caller('1', 'job'), caller('2', 'background'), caller('1'), caller('3')];
    for (const one of waiting) expect(await turns.take(one)).toBeGreaterThan(0);
    const order = await inOrder(turns, held, waiting);
    expect(order.map(({ purpose }) => purpose)).toEqual(['caller', 'caller', 'background', 'job']);
  });

  test('jobs leave a fifth of the places free', async () => {
    const turns = await create(10);
    const taken = [];
    for (let index = 0; index < 10; index++) taken.push(await turns.take(caller(`${index}`, 'job')));
    expect(taken.filter((wait) => wait === 0)).toHaveLength(8);
    expect(await turns.take(caller('1'))).toBe(0);
    expect(await turns.take(caller('1'))).toBe(0);
    expect(await turns.take(caller('1'))).toBeGreaterThan(0);
  });

  test('what runs in the background leaves a tenth of the places free, which jobs leave to it too', async () => {
    const turns = await create(10);
    for (let index = 0; index < 8; index++) expect(await turns.take(caller(`${index}`, 'job'))).toBe(0);
    expect(await turns.take(caller('1', 'job'))).toBeGreaterThan(0);
    expect(await turns.take(caller('1', 'background'))).toBe(0);
    expect(await turns.take(caller('1', 'background'))).toBeGreaterThan(0);
    expect(await turns.take(caller('1'))).toBe(0);
  });

  test('a guild with many calls keeps another waiting for one of them at most', async () => {
    const { turns, held } = await filled(1);
    const many = Array.from({ length: 5 }, () => caller('many'));
    const few = caller('few');
    for (const one of [...many, few]) expect(await turns.take(one)).toBeGreaterThan(0);
    const order = await inOrder(turns, held, [...many, few]);
    expect(order.indexOf(few)).toBeLessThanOrEqual(1);
    expect(order.filter(({ guildId }) => guildId === 'many')).toEqual(many);
  }, 20_000);

  test('who no longer asks keeps nobody waiting', async () => {
    const { turns, held } = await filled(1);
    const gone = [caller('1'), caller('2')];
    for (const one of gone) await turns.take(one);
    await turns.leave(gone[0]?.id ?? '');
    const last = caller('3');
    expect(await turns.take(last)).toBeGreaterThan(0);
    // The other has died: it is passed over once it should have asked again.
    expect(await inOrder(turns, held, [last])).toEqual([last]);
  });
}
