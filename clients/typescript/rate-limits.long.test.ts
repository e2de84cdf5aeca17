import { afterAll, beforeAll, expect, test } from 'vitest';
import { amount } from '../../test/measure/bounds.ts';
import { GUILD, type Network, startNetwork } from '../../test/system/system.ts';
import { GuildData, NotFoundError } from './src/index.ts';

const WINDOW_MS = 60_000;
const PER_WINDOW = 60;

let network: Network;

beforeAll(async () => {
  network = await startNetwork();
});
afterAll(() => network.stop());

test('more lookups than a window allows are delayed and not rejected, although another client shares the limit', async () => {
  const { secret } = await network.createKey();
  const statuses: number[] = [];
  const clients = [1, 2].map(
    () =>
      new GuildData({
        key: secret,
        guildId: GUILD,
        baseUrl: network.api.replace('/api/v1', ''),
        totalTimeoutMs: 10 * WINDOW_MS,
        onResponse: ({ status }) => statuses.push(status),
      }),
  );
  const [first, second] = clients as [GuildData, GuildData];
  const count = amount(PER_WINDOW + 10, 3 * PER_WINDOW);
  const startedAt = Date.now();
  for (let sent = 0; sent < count; sent++) {
    // Only headers of responses tell the first client about the requests of the second.
    const client = sent < PER_WINDOW / 2 && sent % 3 === 0 ? second : first;
    await expect(client.getLinkByGameId({ gameId: 7 })).rejects.toBeInstanceOf(NotFoundError);
  }
  expect(statuses).toEqual(Array(count).fill(404));
  const windows = Math.floor(Date.now() / WINDOW_MS) - Math.floor(startedAt / WINDOW_MS);
  expect(windows).toBeGreaterThanOrEqual(Math.ceil(count / PER_WINDOW) - 1);
}, 300_000);
