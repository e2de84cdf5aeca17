import { describe, expect, test } from 'vitest';
import { GUILD, startNetwork } from '../system/system.ts';
import { expectNothingUnhandled } from './faults.ts';
import { checkPart } from './matrix.ts';

expectNothingUnhandled();

describe.concurrent('a platform that is down, slow or reset', () => {
  test.each(['chat', 'game'] as const)(
    '%s: requests that need it get its error, others succeed, and it is used again within 10 s',
    async (part) => expect(await checkPart(part)).toEqual(['down', 'slow', 'reset']),
    300_000,
  );
});

test('a link that the game platform could not confirm gets 502, and nothing is stored', async () => {
  const network = await startNetwork();
  try {
    const { secret: key } = await network.createKey();
    const faults = `${network.simulators.game}/__faults`;
    await fetch(faults, { method: 'POST', body: JSON.stringify({ match: '/v1/users/', status: 503 }) });
    const body = { guild_id: GUILD, chat_id: '920000000000000001', game_id: 7001 };
    const link = () => network.call('/verification/link', { method: 'POST', key, body });
    expect((await link()).json.details.code).toBe('PLATFORM_ERROR');
    await fetch(faults, { method: 'DELETE' });
    expect((await link()).status).toBe(201);
  } finally {
    await network.stop();
  }
});
