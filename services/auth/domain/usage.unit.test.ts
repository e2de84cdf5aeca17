import { expect, test } from 'vitest';
import { MAX_READS, type ServiceUsage, Usage } from './usage.ts';

const NOTHING: ServiceUsage = { rows: [], quotas: [] };
const NO_REQUESTS = { lastHour: [], days: [] };
const guild = (n: number) => String(910000000000000000n + BigInt(n));

test('a usage whose read has failed counts as being read until all its reads have ended', async () => {
  const held = Promise.withResolvers<ServiceUsage>();
  let isDown = true;
  const usage = new Usage({
    requests: { read: async () => NO_REQUESTS },
    own: async () => NOTHING,
    others: [
      async () => {
        if (isDown) throw new Error('is down');
        return NOTHING;
      },
      () => held.promise,
    ],
  });
  for (let n = 0; n < MAX_READS; n++) await expect(usage.of(guild(n))).rejects.toThrow('is down');
  isDown = false;
  await expect(usage.of(guild(MAX_READS))).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  held.resolve(NOTHING);
  await held.promise;
  await new Promise(setImmediate);
  expect(await usage.of(guild(MAX_READS))).toMatchObject({ liveServers: 0 });
});

test('the stored requests of one guild are read at a time', async () => {
  let [running, max] = [0, 0];
  const read = async () => {
    max = Math.max(max, ++running);
    await new Promise(setImmediate);
    running--;
    return NO_REQUESTS;
  };
  const usage = new Usage({ requests: { read }, own: async () => NOTHING, others: [] });
  await Promise.all(Array.from({ length: MAX_READS }, (_, n) => usage.of(guild(n))));
  expect(max).toBe(1);
});
