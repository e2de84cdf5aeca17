import { describe, expect, test } from 'vitest';
import { waitForWindowTime } from '../measure/windows.ts';
import { startNetwork } from '../system/system.ts';
import { expectNothingUnhandled } from './faults.ts';
import { checkPart } from './matrix.ts';

expectNothingUnhandled();

describe.concurrent('a store, or auth, that is down, slow or reset', () => {
  test.each(['redis', 'postgres', 'auth'] as const)(
    '%s: requests that need it get 503 or 504, others succeed, and it is used again within 10 s',
    async (part) => expect(await checkPart(part)).toEqual(['down', 'slow', 'reset']),
    300_000,
  );
});

test('without Redis limits are counted in memory, exactly with one gateway', async () => {
  const alone = await startNetwork({ redisUrl: null });
  try {
    const own = await alone.createKey({ rateLimit: 3 });
    await waitForWindowTime(10_000);
    const codes = [];
    for (let count = 0; count < 4; count++) codes.push((await alone.call('/whoami', { key: own.secret })).status);
    expect(codes).toEqual([200, 200, 200, 429]);
  } finally {
    await alone.stop();
  }
});
