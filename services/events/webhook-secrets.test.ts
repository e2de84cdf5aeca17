import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { internalKeysOf } from '#kit/security/process-keys.ts';
import { PATIENCE } from '#test/patience.ts';
import { TEST_ADMIN_SECRETS, TEST_SECRETS } from '#test/system/signed-calls.ts';
import { newGuild, recorded } from './fixture.ts';
import { WebhookFixture } from './fixtures/webhooks.ts';

const fixture = new WebhookFixture();
beforeAll(() => fixture.start());
afterAll(() => fixture.stop());

const keys = (...internal: string[]) => ({
  INTERNAL_KEYS: internalKeysOf('events', { internal, admin: TEST_ADMIN_SECRETS }),
});

test('secrets stay readable when the root secret is rotated twice', async () => {
  const guildId = newGuild();
  const receiver = await fixture.receiver();
  const { secret, id } = await fixture.create(guildId, { url: receiver.url });
  await fixture.send(guildId, 'POST', `/webhooks/${id}/rotate`, {});
  const [old = ''] = TEST_SECRETS;
  const [next, last] = ['the second secret of more than 32 bytes', 'the third secret of more than 32 bytes'];
  const stored = async () =>
    (
      await fixture.rows<{ key: string }>('SELECT secret_key AS key FROM events.endpoints WHERE guild_id = $1', [
        guildId,
      ])
    )[0]?.key;
  const before = await stored();
  const rotated = await fixture.startEvents(keys(next, old));
  await expect.poll(stored, PATIENCE).not.toBe(before);
  await rotated.stop();
  await fixture.events.stop();
  // Events are appended by a call that the old secret signs; the process knows it only for that.
  await fixture.rows(`UPDATE events.endpoints SET wanted_seq = 1 WHERE guild_id = $1`, [guildId]);
  await fixture.rows(
    `INSERT INTO events.counters (guild_id, last_seq, day) VALUES ($1, 1, now()::date)
    ON CONFLICT (guild_id) DO UPDATE SET last_seq = 1`,
    [guildId],
  );
  const { id: eventId, type } = recorded(1);
  await fixture.rows(
    `INSERT INTO events.log (guild_id, day, seq, id, type, created_at, source, persons, data, size)
     VALUES ($1, now()::date, 1, $2, $3, now(), '{"kind":"system","id":"test"}', '{}', '{}', 2)`,
    [guildId, eventId, type],
  );
  await fixture.rows('INSERT INTO events.days (guild_id, day, first_seq) VALUES ($1, now()::date, 1)', [guildId]);
  fixture.events = await fixture.startEvents(keys(last, next));
  await receiver.expectSeqs(1);
  const [received] = receiver.received;
  expect(new Webhook(secret).verify(received?.body ?? '', received?.headers ?? {})).toEqual(received?.event);
});
