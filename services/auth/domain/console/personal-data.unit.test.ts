import { expect, test } from 'vitest';
import { PersonalData } from './personal-data.ts';

test('a guild that exports all the time leaves room for the exports of other guilds', async () => {
  const held = Promise.withResolvers<undefined>();
  const data = new PersonalData({
    services: [],
    findAccounts: async (_guildId, accounts) => {
      await held.promise;
      return accounts;
    },
    access: { requireNotAbove: async () => undefined },
    keys: { recordErasure: async () => undefined, recordExport: async () => undefined },
  });
  const greedy = Array.from({ length: 20 }, () => data.export('900000000000000001', { gameId: 1 }, ''));
  const rejected = greedy.map((one) => one.then(() => false).catch(() => true));
  const other = data.export('900000000000000002', { gameId: 1 }, '');
  held.resolve(undefined);
  await expect(other).resolves.toEqual({ rows: [], nextCursor: '' });
  expect((await Promise.all(rejected)).filter(Boolean)).toHaveLength(17);
});
