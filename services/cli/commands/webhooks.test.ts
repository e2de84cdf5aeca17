import { afterAll, beforeAll, expect, test } from 'vitest';
import { newGuild, recordedFrom } from '#services/events/fixture.ts';
import { WebhookFixture } from '#services/events/fixtures/webhooks.ts';
import { PATIENCE } from '#test/patience.ts';
import { startAuthForOperators, type TestAuth } from '#test/system/auth.ts';
import { TEST_ADMIN_SECRETS } from '#test/system/signed-calls.ts';
import { guildctlJson, runGuildctl } from '../fixtures/guildctl.ts';

const [ADMIN_SECRET = ''] = TEST_ADMIN_SECRETS;
const UNKNOWN = '6f1c2a9e-8a57-4f0e-9d3b-2b7a4c1e5d60';

const fixture = new WebhookFixture();
let auth: TestAuth;
beforeAll(async () => {
  await fixture.start();
  auth = await startAuthForOperators(fixture.testDatabase.url);
});
afterAll(async () => {
  await auth.stop();
  await fixture.stop();
});

const environment = () => ({
  GUILDCTL_AUTH: auth.address,
  GUILDCTL_EVENTS: fixture.events.addresses.grpc,
  ADMIN_SECRETS: ADMIN_SECRET,
});
const run = (...words: string[]) => runGuildctl(words, environment());
const json = (...words: string[]) => guildctlJson<Record<string, unknown>>(words, environment());

test('webhooks list, show, disable, enable, replay and deliveries print the documented output', async () => {
  const guild = newGuild();
  const receiver = await fixture.receiver();
  const { id } = await fixture.create(guild, { url: receiver.url, types: ['ban.*'], description: 'Mirror' });
  const shown = {
    id,
    guild_id: guild,
    url: receiver.url,
    types: ['ban.*'],
    description: 'Mirror',
    format: 'standard',
    enabled: true,
    disabled_reason: null,
    delivered_seq: 0,
    failing_since: null,
    parked: 0,
    key_id: `${guild}-1`,
    created_at: expect.any(Number),
  };
  expect(await json('webhooks', 'list', '--guild', guild)).toEqual({ webhooks: [shown] });
  expect(await json('webhooks', 'show', '--guild', guild, id)).toEqual(shown);
  expect(await json('webhooks', 'disable', '--guild', guild, id)).toEqual({
    ...shown,
    enabled: false,
    disabled_reason: 'operator',
  });
  const [event] = await fixture.read(guild);
  expect(event).toMatchObject({ type: 'webhook.disabled', source: { kind: 'operator', id: 'root' } });
  await fixture.append(guild, recordedFrom(1, 2));
  expect(await json('webhooks', 'enable', '--guild', guild, id)).toMatchObject({ enabled: true });
  await receiver.expectSeqs(2, 3);
  await json('webhooks', 'replay', '--guild', guild, id, '--from', '3');
  await receiver.expectSeqs(2, 3, 3);
  await json('webhooks', 'replay', '--guild', guild, id, '--event', String(receiver.received[0]?.event.id));
  await receiver.expectSeqs(2, 3, 3, 2);
  await expect.poll(async () => (await fixture.deliveries(guild, id)).length, PATIENCE).toBe(4);
  const first = await json('webhooks', 'deliveries', '--guild', guild, id, '--limit', '3');
  const rest = await json('webhooks', 'deliveries', '--guild', guild, id, '--cursor', String(first['next_cursor']));
  expect([first['deliveries'], rest['deliveries']].flat()).toEqual(await fixture.deliveries(guild, id));
  expect(rest['next_cursor']).toBeNull();
});

test('the audit names the operator and the webhook of a change', async () => {
  const guild = newGuild();
  const { id } = await fixture.create(guild, { url: 'http://127.0.0.1:9000/' });
  await json('webhooks', 'disable', '--guild', guild, id, '--actor', 'ben');
  const { entries } = await json('audit', 'list', '--guild', guild);
  expect(entries).toMatchObject([{ actor: 'root', details: { id } }]);
});

test('text output is aligned, and never has a secret', async () => {
  const guild = newGuild();
  const { id, secret } = await fixture.create(guild, { url: 'http://127.0.0.1:9000/' });
  const listed = await run('webhooks', 'list', '--guild', guild);
  expect(listed.out).toMatch(/^WEBHOOK +URL +TYPES +STATE +DELIVERED SEQ +WAITING FOR RETRY +FAILING SINCE\n/);
  const shown = await run('webhooks', 'show', '--guild', guild, id);
  expect(shown.out).toMatch(/^Webhook +[0-9a-f-]{36}\nGuild +[0-9]+\nURL +http:\/\/127\.0\.0\.1:9000\/\n/);
  expect(listed.out + shown.out).not.toContain(secret);
  expect((await run('webhooks', 'deliveries', '--guild', guild, id)).out).toContain('No event was sent');
  expect((await run('webhooks', 'list', '--guild', newGuild())).out).toBe('The guild has no webhooks.\n');
});

test.each([
  [['webhooks', 'list'], '--guild is required'],
  [['webhooks', 'show', '--guild', '900000000000000001'], 'WEBHOOK_ID is required'],
  [['webhooks', 'show', '--guild', '900000000000000001', UNKNOWN], 'The guild has no such webhook'],
  [['webhooks', 'show', '--guild', '900000000000000001', 'x'], 'WEBHOOK_ID must be a UUID'],
  [['webhooks', 'enable', '--guild', '900000000000000001', UNKNOWN, '--from', 'x'], '--from must be a whole number'],
  [['webhooks', 'replay', '--guild', '900000000000000001', UNKNOWN], 'give exactly one of --from, --event'],
  [['events', 'tail'], '--guild is required'],
  [['events', 'tail', '--guild', '900000000000000001', '--types', 'x'], 'must be an event type'],
  [['events', 'tail', '--guild', '900000000000000001', '--after', '5', '--once'], 'The log does not have the events'],
])('%j fails, and prints the fault to standard error only', async (words, message) => {
  const { status, out, error } = await run(...words, '--json');
  expect({ status, out }).toEqual({ status: 1, out: '' });
  expect(error).toContain(message);
});

test('events tail prints the newest events, after a seq or of some types, and the rest of the log in one document', async () => {
  const guild = newGuild();
  await fixture.append(guild, recordedFrom(1, 100));
  await fixture.append(guild, recordedFrom(101, 30));
  const seqs = ({ events }: Record<string, unknown>) => (events as { seq: number }[]).map(({ seq }) => seq);
  const tail = (...words: string[]) => json('events', 'tail', '--guild', guild, ...words);
  expect(seqs(await tail())).toEqual([121, 122, 123, 124, 125, 126, 127, 128, 129, 130]);
  expect(seqs(await tail('--lines', '1'))).toEqual([130]);
  expect(seqs(await tail('--after', '0'))).toHaveLength(130);
  expect(await tail('--after', '0', '--types', 'link.*')).toEqual({ events: [], next_after: 130 });
  const [event] = (await tail('--lines', '1'))['events'] as object[];
  const [read] = await fixture.read(guild, 129);
  expect({ guild_id: guild, ...event }).toEqual(read);
  const { out } = await run('events', 'tail', '--guild', guild, '--lines', '2', '--once');
  expect(out.split('\n')).toHaveLength(3);
  expect(out).toMatch(
    /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC {2}129 {2}ban\.created {2}system moderation {2}\{"number":129\}\n/,
  );
});
