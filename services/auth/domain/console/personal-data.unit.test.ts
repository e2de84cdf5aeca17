import { afterEach, expect, test, vi } from 'vitest';
import { actAs } from '../audit/acting-person.ts';
import { PersonalData, type ServiceData } from './personal-data.ts';

const GUILD = '900000000000000001';
const OTHER_GUILD = '900000000000000002';
const UNAVAILABLE = { code: 'UNAVAILABLE', retryAfter: 5 };

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** Exports and erasures that wait for `released` before they read anything. `started` is the number of those that run. */
function heldData(services: readonly ServiceData[] = [], onFind = () => {}) {
  const held = Promise.withResolvers<undefined>();
  const calls = { started: 0, release: () => held.resolve(undefined) };
  const data = new PersonalData({
    services,
    findAccounts: async (_guildId, accounts) => {
      calls.started++;
      await held.promise;
      onFind();
      return accounts;
    },
    access: { requireNotAbove: async () => undefined },
    keys: { recordErasure: async () => undefined, recordExport: async () => undefined },
  });
  return { data, calls };
}

const as = <Result>(id: string, work: () => Promise<Result>) =>
  actAs({ id, role: 'admin', address: '', requestId: '' }, work);
const exportAs = (data: PersonalData, person: string, guildId: string) =>
  as(person, () => data.export(guildId, { gameId: 1 }, ''));

/** Resolves to the number of the calls that were rejected. */
async function rejectedOf(calls: Promise<unknown>[]): Promise<number> {
  const results = await Promise.allSettled(calls);
  return results.filter(({ status }) => status === 'rejected').length;
}

test('a guild that exports all the time leaves room for the exports of other guilds', async () => {
  const { data, calls } = heldData();
  const rejected = rejectedOf(Array.from({ length: 20 }, (_, person) => exportAs(data, String(person), GUILD)));
  const other = exportAs(data, 'ada', OTHER_GUILD);
  calls.release();
  await expect(other).resolves.toEqual({ rows: [], nextCursor: '' });
  expect(await rejected).toBe(17);
});

test('a person who exports in many guilds leaves room for the exports of other persons', async () => {
  const { data, calls } = heldData();
  const guilds = Array.from({ length: 20 }, (_, guild) => `9000000000000001${guild}`);
  const rejected = rejectedOf(guilds.map((guildId) => exportAs(data, 'greedy', guildId)));
  const other = exportAs(data, 'ada', OTHER_GUILD);
  calls.release();
  await expect(other).resolves.toEqual({ rows: [], nextCursor: '' });
  expect(await rejected).toBe(17);
});

test('an export that waits for two seconds behind others is rejected, and does not run later', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const { data, calls } = heldData();
  const running = ['a', 'b'].map((person) => exportAs(data, person, GUILD));
  const late = exportAs(data, 'c', OTHER_GUILD).catch((error: unknown) => error);
  await vi.advanceTimersByTimeAsync(2_000);
  expect(await late).toMatchObject(UNAVAILABLE);
  calls.release();
  await Promise.all(running);
  await exportAs(data, 'c', OTHER_GUILD);
  expect(calls.started).toBe(3);
});

/** Stops the time of this process. The returned function lets milliseconds pass. */
function stopTime(): (milliseconds: number) => void {
  let now = performance.now();
  vi.spyOn(performance, 'now').mockImplementation(() => now);
  return (milliseconds) => {
    now += milliseconds;
  };
}

/** Services each of whose calls takes five seconds. */
function slowServices(count: number, pass = stopTime()): ServiceData[] {
  return Array.from({ length: count }, (_, index) => ({
    service: `service ${index}`,
    eraseUser: async () => {
      pass(5_000);
      return { tables: [{ table: `table ${index}`, rows: 1 }], isDone: true };
    },
    exportUser: async () => {
      pass(5_000);
      return { rows: [], nextCursor: '' };
    },
  }));
}

test('a dry run that takes too long fails instead of returning a part of the count', async () => {
  const count = (services: number) => {
    const { data, calls } = heldData(slowServices(services));
    calls.release();
    return as('ada', () => data.erase(GUILD, { gameId: 1 }, true));
  };
  await expect(count(2)).resolves.toMatchObject({ tables: [{ rows: 1 }, { rows: 1 }], isDone: true });
  await expect(count(3)).rejects.toMatchObject({ code: 'TIMEOUT' });
});

test('the time in which the accounts are found is a part of the time of an erasure and of a dry run', async () => {
  const pass = stopTime();
  const { data, calls } = heldData(slowServices(2, pass), () => pass(6_000));
  calls.release();
  const erase = (dryRun: boolean) => as('ada', () => data.erase(GUILD, { gameId: 1 }, dryRun));
  await expect(erase(true)).rejects.toMatchObject({ code: 'TIMEOUT' });
  await expect(erase(false)).resolves.toEqual({ tables: [], isDone: false });
});

test('an export from slow services returns an empty page with a cursor, at which the next page continues', async () => {
  const { data, calls } = heldData(slowServices(3));
  calls.release();
  const page = (cursor: string) => as('ada', () => data.export(GUILD, { gameId: 1 }, cursor));
  expect(await page('')).toEqual({ rows: [], nextCursor: '2 ' });
  expect(await page('2 ')).toEqual({ rows: [], nextCursor: '' });
});
