import { afterAll, beforeAll, expect, test } from 'vitest';
import { MAX_WEBHOOKS } from '#proto/rest/webhooks.ts';
import { PATIENCE } from '#test/patience.ts';
import { newGuild, recorded, recordedFrom } from './fixture.ts';
import { WebhookFixture } from './fixtures/webhooks.ts';

const fixture = new WebhookFixture();
beforeAll(() => fixture.start());
afterAll(() => fixture.stop());

test('the retry of a webhook is not delayed by others of its guild that cannot keep up with theirs', async () => {
  const guildId = newGuild();
  const [slow, healthy] = [await fixture.receiver(), await fixture.receiver()];
  // Longer than a turn, so that each turn is one attempt.
  slow.respond = (_request, response) => setTimeout(() => response.writeHead(500).end(), 6_000).unref();
  let isFirst = true;
  healthy.respond = (_request, response) => {
    response.writeHead(isFirst ? 500 : 200).end();
    isFirst = false;
  };
  await fixture.append(guildId, recordedFrom(1, 20));
  // As many as the guild has places for retries, each with a backlog that was due an hour ago.
  for (let count = 0; count < 4; count++) await fixture.create(guildId, { url: slow.url, types: ['link.*'] });
  await fixture.rows(
    `INSERT INTO events.parked (guild_id, endpoint_id, seq, event_id, attempts, next_attempt_at)
     SELECT guild_id, endpoints.id, seq, log.id, 1, clock_timestamp() - interval '1 hour'
     FROM events.endpoints JOIN events.log USING (guild_id) WHERE guild_id = $1`,
    [guildId],
  );
  await fixture.rows(
    "UPDATE events.endpoints SET parked = 20, retry_at = clock_timestamp() - interval '1 hour' WHERE guild_id = $1",
    [guildId],
  );
  await expect.poll(() => slow.received.length, PATIENCE).toBe(4);
  await fixture.create(guildId, { url: healthy.url, types: ['ban.*'] });
  await fixture.append(guildId, [recorded(21)]);
  // The retry is due after five seconds, and the turns of the others take six.
  await expect.poll(() => healthy.seqs, { timeout: 25_000 }).toEqual([21, 21]);
});

test('a guild whose webhooks all become slow gets twelve of the places for slow and other webhooks, and no more', async () => {
  const guildId = newGuild();
  const slow = await fixture.receiver();
  let [now, max] = [0, 0];
  slow.respond = (_request, response) => {
    max = Math.max(max, ++now);
    setTimeout(() => {
      now--;
      response.end();
    }, 3_000).unref();
  };
  for (let count = 0; count < MAX_WEBHOOKS; count++) await fixture.create(guildId, { url: slow.url });
  await fixture.append(guildId, [recorded(1)]);
  await expect.poll(() => slow.received.length, PATIENCE).toBe(MAX_WEBHOOKS);
  expect(max).toBeLessThanOrEqual(12);
  expect(max).toBeGreaterThan(8);
});
