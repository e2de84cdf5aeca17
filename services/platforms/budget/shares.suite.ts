import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { PURPOSES, type Purpose } from '#kit/context.ts';
import { REAL_TIME } from './slots.suite.ts';
import type { Allowance, Caller, CallSlots } from './slots.ts';

const MINUTE_MS = 60_000;
/** The shortest window with shares, in which a test waits for slots to become free. */
const SHORT_MS = 5_001;
const GREEDY = 'greedy';

const caller = (guildId: string, purpose: Purpose = 'caller'): Caller => ({ id: randomUUID(), guildId, purpose });

/** Tests the shares of guilds in the slots of long windows. `create` returns slots that are all free. */
export function sharesSuite(create: (allowance: Allowance) => Promise<CallSlots>, time = REAL_TIME): void {
  /** Returns slots of which another guild than the greedy one has used one before. */
  async function shared(allowance: Allowance): Promise<CallSlots> {
    const slots = await create(allowance);
    expect(await slots.acquire(caller('earlier'))).toBe(0);
    return slots;
  }

  /** Begins this many calls of a guild; returns those that have a slot and those that wait. */
  async function begin(slots: CallSlots, count: number, guildId = GREEDY, purpose: Purpose = 'caller') {
    const made: Caller[] = [];
    const waiting: Caller[] = [];
    for (let index = 0; index < count; index++) {
      const one = caller(guildId, purpose);
      ((await slots.acquire(one)) === 0 ? made : waiting).push(one);
    }
    return { made, waiting };
  }

  test('a guild that calls all the time leaves slots for a caller, background work and a job of another guild', async () => {
    const slots = await shared({ slots: 100, windowMs: MINUTE_MS });
    expect((await begin(slots, 300)).made).toHaveLength(50);
    for (const purpose of PURPOSES) expect(await slots.acquire(caller('other', purpose))).toBe(0);
  });

  test('two guilds that call all the time leave a third of the slots to others', async () => {
    const slots = await shared({ slots: 100, windowMs: MINUTE_MS });
    for (let round = 0; round < 100; round++) for (const guild of ['one', 'two']) await begin(slots, 1, guild);
    expect((await begin(slots, 10, 'third')).made).toHaveLength(10);
    expect((await begin(slots, 3, 'fourth', 'job')).made).toHaveLength(3);
  });

  test('while all slots are occupied, guilds that occupy less than a tenth wait in the queue and keep their order', async () => {
    const slots = await create({ slots: 20, windowMs: SHORT_MS });
    const holders = Array.from({ length: 20 }, (_, index) => caller(`holder ${index}`));
    for (const holder of holders) expect(await slots.acquire(holder)).toBe(0);
    const [first, second] = [caller('first'), caller('second', 'background')];
    for (const one of [first, second]) expect(await slots.acquire(one)).toBeGreaterThan(0);
    for (const holder of holders.slice(0, 3)) await slots.release(holder);
    // Background work leaves two slots free, so there is one slot for both.
    expect(await expectSlot(slots, first, [second])).toEqual([second]);
  }, 20_000);

  test('calls above the share of their guild do not delay background work of another guild', async () => {
    const slots = await create({ slots: 20, windowMs: SHORT_MS });
    const holders = Array.from({ length: 18 }, (_, index) => caller(`holder ${index}`));
    for (const holder of holders) expect(await slots.acquire(holder)).toBe(0);
    const { made, waiting } = await begin(slots, 50);
    expect(made).toHaveLength(2);
    const other = caller('other', 'background');
    expect(await slots.acquire(other)).toBeGreaterThan(0);
    for (const holder of holders.slice(0, 4)) await slots.release(holder);
    // The greedy guild's callers are more urgent, and there are more of them than slots.
    await expectSlot(slots, other, waiting);
  }, 20_000);

  test('a guild that calls alone may occupy all slots, its jobs four fifths', async () => {
    const slots = await create({ slots: 100, windowMs: MINUTE_MS });
    expect((await begin(slots, 100, GREEDY, 'job')).made).toHaveLength(80);
    expect((await begin(slots, 30)).made).toHaveLength(20);
  });

  test("a guild's jobs leave a part of its share to its own callers", async () => {
    const slots = await shared({ slots: 100, windowMs: MINUTE_MS });
    expect((await begin(slots, 300, GREEDY, 'job')).made).toHaveLength(44);
    expect((await begin(slots, 300, GREEDY, 'background')).made).toHaveLength(3);
    expect((await begin(slots, 300)).made).toHaveLength(3);
  });

  test('the waiting calls of a guild above its share get slots when its own become free', async () => {
    const slots = await shared({ slots: 4, windowMs: SHORT_MS });
    const { made, waiting } = await begin(slots, 3);
    expect([made.length, waiting.length]).toEqual([2, 1]);
    for (const one of made) await slots.release(one);
    await expectSlot(slots, waiting[0] as Caller);
  }, 20_000);

  test('calls of no guild have no share', async () => {
    const slots = await shared({ slots: 100, windowMs: MINUTE_MS });
    expect((await begin(slots, 100, '')).made).toHaveLength(99);
  });

  test('in windows that are shorter than callers wait, a guild may occupy all slots', async () => {
    const slots = await shared({ slots: 100, windowMs: 5_000 });
    expect((await begin(slots, 100)).made).toHaveLength(99);
  });

  /** Tries until the call has a slot, while the calls of others try too; returns those that have none. */
  async function expectSlot(slots: CallSlots, one: Caller, others: readonly Caller[] = []): Promise<Caller[]> {
    const until = time.now() + 2 * SHORT_MS;
    const left = new Set(others);
    let wait = 1;
    while (wait > 0 && time.now() < until) {
      await time.sleep(50);
      for (const other of left) if ((await slots.acquire(other)) === 0) left.delete(other);
      wait = await slots.acquire(one);
    }
    expect(wait).toBe(0);
    return [...left];
  }
}
