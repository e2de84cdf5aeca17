import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { costOf } from '#test/postgres/explain.ts';
import { newGuild } from '../fixture.ts';
import { WebhookFixture } from '../fixtures/webhooks.ts';
import { deleteOldDeliveries } from './deliveries.ts';
import { settleRetry } from './parked.ts';
import { type LeasedEndpoint, settleTurn } from './turns.ts';

const fixture = new WebhookFixture({ controlsTime: false });
beforeAll(() => fixture.start());
afterAll(() => fixture.stop());

const outcome = {
  attempt: { eventId: randomUUID(), seq: 1, attempt: 1, status: 200, latencyMs: 1, error: null, answer: '' },
  isSuccess: true,
  isSlow: false,
  retrySeconds: null,
};

let guildId: string;
beforeEach(() => {
  guildId = newGuild();
});

/** Creates a webhook with no pending events and `count` stored delivery attempts, the oldest of them from yesterday. */
async function withAttempts(count: number): Promise<LeasedEndpoint> {
  const { id } = await fixture.create(guildId, { url: 'http://127.0.0.1:1024/' });
  const lease = randomUUID();
  await fixture.rows(
    "SELECT events.create_partition('deliveries', day::date) FROM generate_series(now() - interval '2 days', now(), '1 day') AS day",
  );
  await fixture.rows(
    `INSERT INTO events.deliveries (guild_id, endpoint_id, day, at, event_id, seq, attempt, latency_ms, answer)
     SELECT $1, $2, (at AT TIME ZONE 'UTC')::date, at, gen_random_uuid(), seq, 1, 5, 'ok'
     FROM (SELECT seq, now() - ($3 - seq + 1) * interval '1 day' / $3 AS at FROM generate_series(1, $3::int) AS seq) AS attempt`,
    [guildId, id, count],
  );
  await fixture.rows(
    `UPDATE events.endpoints SET attempt_count = 998, lease = $3, leased_until = clock_timestamp() + interval '1 hour'
     WHERE guild_id = $1 AND id = $2`,
    [guildId, id, lease],
  );
  return { guildId, id, lease } as LeasedEndpoint;
}

const stored = async ({ id }: Pick<LeasedEndpoint, 'id'>) => {
  const [row] = await fixture.rows<{ count: number; oldest: number | null }>(
    'SELECT count(*)::int, min(seq)::int AS oldest FROM events.deliveries WHERE guild_id = $1 AND endpoint_id = $2 AND seq > 1',
    [guildId, id],
  );
  return row;
};

describe('of the attempts of a webhook only the newest 10,000 are left', () => {
  test.each<[string, (endpoint: LeasedEndpoint) => Promise<unknown>]>([
    ['of a turn', (endpoint) => settleTurn(fixture.database, { endpoint, cursorSeq: 0, outcome, isReleased: false })],
    ['of a retry', (endpoint) => settleRetry(fixture.database, { ...endpoint, attempts: 0 }, outcome)],
  ])('after each thousandth attempt %s, and other webhooks keep theirs', async (_title, attempt) => {
    const [endpoint, other] = [await withAttempts(11_500), await withAttempts(11_500)];
    await attempt(endpoint);
    expect(await stored(endpoint)).toEqual({ count: 11_499, oldest: 2 });
    await attempt(endpoint);
    // The two attempts of this test, with seq 1, are among the newest 10,000.
    expect(await stored(endpoint)).toEqual({ count: 9_998, oldest: 1_503 });
    expect(await stored(other)).toEqual({ count: 11_499, oldest: 2 });
  });

  test('at a cost that does not grow with the number of attempts', async () => {
    const endpoint = await withAttempts(60_000);
    await fixture.rows('VACUUM ANALYZE events.deliveries');
    const { pages } = await costOf(fixture.database, (on) => deleteOldDeliveries(on, endpoint));
    expect(pages).toBeLessThan(6_000);
    expect(await stored(endpoint)).toMatchObject({ count: 57_999 });
  });
});

test('deleting a webhook deletes its attempts', async () => {
  const [endpoint, other] = [await withAttempts(10_500), await withAttempts(20)];
  const { status } = await fixture.send(guildId, 'DELETE', `/webhooks/${endpoint.id}`);
  expect(status).toBe(200);
  expect(await stored(endpoint)).toEqual({ count: 0, oldest: null });
  expect(await stored(other)).toEqual({ count: 19, oldest: 2 });
});
