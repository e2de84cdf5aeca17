import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PATIENCE } from '#test/patience.ts';
import { newGuild, recorded, recordedFrom } from './fixture.ts';
import { WebhookFixture } from './fixtures/webhooks.ts';

const fixture = new WebhookFixture();
beforeAll(() => fixture.start());
afterAll(() => fixture.stop());

const URL = 'http://127.0.0.1:9000/hook';
const READER = { principal: { scopes: ['webhooks:write', 'members:read'], legacy: false } };

describe('POST /webhooks', () => {
  test('creates a webhook and shows its secret once; lists and single reads do not show it', async () => {
    const guildId = newGuild();
    await fixture.append(guildId, recordedFrom(1, 3));
    const body = { guild_id: guildId, url: URL, types: ['ban.*', 'link.created'], description: 'Mirror' };
    const created = await fixture.send(guildId, 'POST', '/webhooks', body);
    expect(created.status).toBe(201);
    const { secret, ...shown } = created.body.data;
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(shown).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      guild_id: guildId,
      url: URL,
      types: ['ban.*', 'link.created'],
      description: 'Mirror',
      format: 'standard',
      enabled: true,
      disabled_reason: null,
      delivered_seq: 3,
      failing_since: null,
      created_at: expect.any(Number),
    });
    expect((await fixture.send(guildId, 'GET', `/webhooks/${shown.id}`)).body.data).toEqual(shown);
    expect((await fixture.send(guildId, 'GET', '/webhooks')).body.data).toEqual({ webhooks: [shown] });
    expect((await fixture.send(newGuild(), 'GET', `/webhooks/${shown.id}`)).body.details.code).toBe('NOT_FOUND');
    const [row] = await fixture.rows<{ secret: Buffer }>('SELECT secret FROM events.endpoints WHERE guild_id = $1', [
      guildId,
    ]);
    expect(row?.secret.includes(secret.slice(6))).toBe(false);
  });

  test('lists all faults of the body at once, also those of the URL', async () => {
    const guildId = newGuild();
    const body = { guild_id: guildId, url: 'ftp://ada@10.0.0.1:22/x', types: ['ban.x', 5], format: 'xml', from: 0 };
    const { status, body: response } = await fixture.send(guildId, 'POST', '/webhooks', body);
    expect(status).toBe(400);
    const paths = response.details.errors.map(({ path }: { path: string }) => path);
    expect(new Set(paths)).toEqual(new Set(['body.format', 'body.from', 'body.types[0]', 'body.types[1]', 'body.url']));
  });

  test.each([
    [{ types: undefined }, 'body.types'],
    [{ types: [] }, 'body.types'],
    [{ url: undefined }, 'body.url'],
    [{ url: 'http://10.0.0.1/' }, 'body.url'],
    [{ url: 'http://127.0.0.1:22/' }, 'body.url'],
    [{ url: 'http://ada:secret@127.0.0.1:9000/' }, 'body.url'],
    [{ description: 'x'.repeat(201) }, 'body.description'],
    [{ from: 'yesterday' }, 'body.from'],
  ])('rejects %j', async (fields, path) => {
    const guildId = newGuild();
    const body = { guild_id: guildId, url: URL, types: ['*'], ...fields };
    const { status, body: response } = await fixture.send(guildId, 'POST', '/webhooks', body);
    expect(status).toBe(400);
    expect(response.details.errors).toEqual([{ path, message: expect.any(String) }]);
  });

  test('rejects a type that the key may not read with 403, and names the scope', async () => {
    const guildId = newGuild();
    const body = { guild_id: guildId, url: URL, types: ['link.*', 'ban.created'] };
    const response = await fixture.send(guildId, 'POST', '/webhooks', body, READER);
    expect(response.status).toBe(403);
    expect(response.body.details).toEqual({ code: 'MISSING_SCOPE', required_scope: 'moderation:read' });
    await fixture.create(guildId, { url: URL, types: ['*', 'link.*', 'binding.*'] }, READER);
  });

  test('with from starts at a seq of the log, and returns 410 for one that is not in it', async () => {
    const guildId = newGuild();
    const receiver = await fixture.receiver();
    await fixture.append(guildId, recordedFrom(1, 4));
    await fixture.create(guildId, { url: receiver.url, from: 3 });
    await receiver.expectSeqs(3, 4);
    const body = { guild_id: guildId, url: URL, types: ['*'], from: 6 };
    const gone = await fixture.send(guildId, 'POST', '/webhooks', body);
    expect(gone.status).toBe(410);
    expect(gone.body.details).toEqual({ code: 'EVENTS_GONE', oldest_seq: 1, newest_seq: 4 });
    await fixture.create(guildId, { url: URL, from: 5 });
  });

  test('creates at most 25 webhooks of a guild, also if 40 requests arrive at once', async () => {
    const guildId = newGuild();
    const body = { guild_id: guildId, url: URL, types: ['*'] };
    const responses = await Promise.all(
      Array.from({ length: 40 }, () => fixture.send(guildId, 'POST', '/webhooks', body)),
    );
    expect(responses.filter(({ status }) => status === 201)).toHaveLength(25);
    const rejected = responses.filter(({ status }) => status !== 201);
    expect(new Set(rejected.map(({ body: { details } }) => JSON.stringify(details)))).toEqual(
      new Set([JSON.stringify({ quota: 'webhooks', limit: 25, code: 'QUOTA_EXCEEDED' })]),
    );
  });

  test('returns the same secret to a repeat with the same Idempotency-Key, and stores it encrypted', async () => {
    const guildId = newGuild();
    const body = { guild_id: guildId, url: URL, types: ['*'] };
    const send = () => fixture.send(guildId, 'POST', '/webhooks', body, { key: 'one' });
    const [first, second] = [await send(), await send()];
    expect(second.headers.get('idempotency-replayed')).toBe('true');
    expect(second.body).toEqual(first.body);
    expect((await fixture.send(guildId, 'GET', '/webhooks')).body.data.webhooks).toHaveLength(1);
    const [row] = await fixture.rows<{ answer: Buffer }>('SELECT answer FROM events.idempotency WHERE guild_id = $1', [
      guildId,
    ]);
    expect(row?.answer.includes(first.body.data.secret.slice(6))).toBe(false);
  });
});

describe('PATCH /webhooks/:id', () => {
  test('changes the given fields only, and null removes the description', async () => {
    const guildId = newGuild();
    const { id } = await fixture.create(guildId, { url: URL, description: 'Mirror' });
    const patch = async (body: object) => (await fixture.send(guildId, 'PATCH', `/webhooks/${id}`, body)).body.data;
    expect(await patch({ types: ['ban.*'] })).toMatchObject({ url: URL, types: ['ban.*'], description: 'Mirror' });
    expect(await patch({ url: 'http://127.0.0.1:9001/other' })).toMatchObject({ url: 'http://127.0.0.1:9001/other' });
    expect(await patch({ description: null })).toMatchObject({ types: ['ban.*'], description: null });
    expect(await patch({ description: 'New' })).toMatchObject({ description: 'New' });
  });

  test('disables a webhook, and enabling continues after the cursor or at from', async () => {
    const guildId = newGuild();
    const receiver = await fixture.receiver();
    const { id } = await fixture.create(guildId, { url: receiver.url, types: ['ban.*'] });
    const patch = (body: object) => fixture.send(guildId, 'PATCH', `/webhooks/${id}`, body);
    expect((await patch({ enabled: false })).body.data).toMatchObject({
      enabled: false,
      disabled_reason: 'requested',
    });
    await fixture.append(guildId, recordedFrom(1, 2));
    // Seq 1 is the event webhook.disabled.
    const [disabled] = await fixture.read(guildId);
    expect(disabled).toMatchObject({
      seq: 1,
      type: 'webhook.disabled',
      source: { kind: 'api_key' },
      data: { id, url: receiver.url, enabled: false, disabled_reason: 'requested' },
    });
    expect((await patch({ enabled: true })).body.data).toMatchObject({ enabled: true, disabled_reason: null });
    await receiver.expectSeqs(2, 3);
    await patch({ enabled: false });
    expect((await patch({ enabled: true, from: 99 })).body.details.code).toBe('EVENTS_GONE');
    expect((await fixture.webhook(guildId, id)).enabled).toBe(false);
    await patch({ enabled: true, from: 3 });
    await receiver.expectSeqs(2, 3, 3);
  });

  test('by a key with fewer scopes cannot take over the types that this key may not read', async () => {
    const guildId = newGuild();
    const receiver = await fixture.receiver();
    const { id } = await fixture.create(guildId, { url: URL, types: ['ban.*', 'link.*'] });
    const patch = (body: object) => fixture.send(guildId, 'PATCH', `/webhooks/${id}`, body, READER);
    expect((await patch({ url: receiver.url })).body.details.code).toBe('MISSING_SCOPE');
    expect((await patch({ url: receiver.url, types: ['*'] })).status).toBe(200);
    await fixture.append(guildId, [recorded(1, { type: 'ban.created' }), recorded(2, { type: 'link.created' })]);
    await receiver.expectSeqs(2);
  });

  test.each([
    [{ from: 1 }, 'body.from'],
    [{ enabled: 'yes' }, 'body.enabled'],
    [{ url: 'https://localhost:99/' }, 'body.url'],
    [{ types: ['x'] }, 'body.types[0]'],
  ])('rejects %j', async (body, path) => {
    const guildId = newGuild();
    const { id } = await fixture.create(guildId, { url: URL });
    const response = await fixture.send(guildId, 'PATCH', `/webhooks/${id}`, body);
    expect(response.status).toBe(400);
    expect(response.body.details.errors).toEqual([{ path, message: expect.any(String) }]);
  });
});

test.each([
  ['GET', ''],
  ['PATCH', ''],
  ['DELETE', ''],
  ['POST', '/rotate'],
  ['POST', '/test'],
  ['GET', '/deliveries'],
  ['POST', '/replay'],
])('%s of an unknown webhook%s returns 404, and of a malformed ID 400', async (method, path) => {
  const guildId = newGuild();
  const body = method === 'GET' || method === 'DELETE' ? undefined : { from: path === '/replay' ? 1 : undefined };
  const call = (id: string) => fixture.send(guildId, method, `/webhooks/${id}${path}`, body);
  expect((await call(randomUUID())).body.details.code).toBe('NOT_FOUND');
  expect((await call('7')).body.details.errors).toEqual([{ path: 'path.id', message: 'must be a UUID' }]);
});

test('DELETE removes a webhook with its parked events, and nothing is sent to it any more', async () => {
  const guildId = newGuild();
  const receiver = await fixture.receiver();
  receiver.respond = (_request, response) => response.writeHead(500).end();
  const { id } = await fixture.create(guildId, { url: receiver.url });
  await fixture.append(guildId, [recorded(1)]);
  const parked = () => fixture.rows('SELECT FROM events.parked WHERE guild_id = $1', [guildId]);
  await expect.poll(async () => (await parked()).length, PATIENCE).toBe(1);
  const deleted = await fixture.send(guildId, 'DELETE', `/webhooks/${id}`);
  expect(deleted.body.data).toEqual({ removed: true, id });
  expect(await parked()).toEqual([]);
  expect((await fixture.send(guildId, 'GET', '/webhooks')).body.data.webhooks).toEqual([]);
});

test('rotating returns a new secret and the end of the grace period, which has bounds', async () => {
  const guildId = newGuild();
  const { id, secret } = await fixture.create(guildId, { url: URL });
  const rotate = (body: object) => fixture.send(guildId, 'POST', `/webhooks/${id}/rotate`, body);
  const { body } = await rotate({});
  expect(body.data).toEqual({ id, secret: expect.stringMatching(/^whsec_/), previous_until: expect.any(Number) });
  expect(body.data.secret).not.toBe(secret);
  const [clock] = await fixture.rows<{ now: number }>(
    'SELECT extract(epoch FROM test_time.clock_timestamp())::float8 AS now',
  );
  expect(Math.abs(body.data.previous_until - (clock?.now ?? 0) - 86_400)).toBeLessThan(30);
  for (const grace of [-1, 604_801, 1.5]) {
    expect((await rotate({ grace_seconds: grace })).body.details.errors[0].path).toBe('body.grace_seconds');
  }
});
