import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { PATIENCE } from '#test/patience.ts';
import { newGuild, recorded, recordedFrom } from './fixture.ts';
import { WebhookFixture } from './fixtures/webhooks.ts';

const fixture = new WebhookFixture();
beforeAll(() => fixture.start());
afterAll(() => fixture.stop());

describe('POST /webhooks/:id/test', () => {
  test('sends a signed event immediately, also to a disabled webhook, and returns the first KiB of the response', async () => {
    const guildId = newGuild();
    const receiver = await fixture.receiver();
    receiver.respond = (_request, response) => response.writeHead(418).end('x'.repeat(3_000));
    const { id, secret } = await fixture.create(guildId, { url: receiver.url });
    await fixture.send(guildId, 'PATCH', `/webhooks/${id}`, { enabled: false });
    const { status, body } = await fixture.send(guildId, 'POST', `/webhooks/${id}/test`, {});
    expect(status).toBe(200);
    expect(body.data).toEqual({
      status: 418,
      latency_ms: expect.any(Number),
      answer: 'x'.repeat(1_024),
      error: null,
    });
    const [received] = receiver.received;
    expect(new Webhook(secret).verify(received?.body ?? '', received?.headers ?? {})).toMatchObject({
      guild_id: guildId,
      type: 'webhook.test',
      data: { webhook_id: id },
    });
  });

  test('returns within seven seconds if the receiver does not respond, and says why', async () => {
    const silent = createServer();
    await new Promise<void>((resolve) => {
      silent.listen(0, '127.0.0.1', resolve);
    });
    const guildId = newGuild();
    const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}/`;
    const { id } = await fixture.create(guildId, { url });
    const startedAt = performance.now();
    const { body } = await fixture.send(guildId, 'POST', `/webhooks/${id}/test`, {});
    expect(performance.now() - startedAt).toBeLessThan(7_000);
    expect(body.data).toMatchObject({ status: null, answer: '', error: expect.any(String) });
    silent.close();
  }, 15_000);
});

describe('GET /webhooks/:id/deliveries', () => {
  test('returns the attempts in pages, the newest first; a made-up cursor is rejected', async () => {
    const guildId = newGuild();
    const receiver = await fixture.receiver();
    const { id } = await fixture.create(guildId, { url: receiver.url });
    await fixture.append(guildId, recordedFrom(1, 5));
    await expect.poll(async () => (await fixture.deliveries(guildId, id)).length, PATIENCE).toBe(5);
    const all = await fixture.deliveries(guildId, id);
    expect(all.map(({ seq }) => seq)).toEqual([5, 4, 3, 2, 1]);
    expect(all[4]).toEqual({
      event_id: receiver.received[0]?.event.id,
      seq: 1,
      attempt: 1,
      at: expect.any(Number),
      status: 200,
      latency_ms: expect.any(Number),
      error: null,
      answer: '',
      next_attempt_at: null,
    });
    // Rows of the same microsecond are told apart by their IDs.
    await fixture.rows('UPDATE events.deliveries SET at = $2 WHERE guild_id = $1', [guildId, new Date()]);
    const found: number[] = [];
    for (let cursor: string | null = ''; cursor !== null; ) {
      const query = `?limit=2${cursor && `&cursor=${cursor}`}`;
      const { body } = await fixture.send(guildId, 'GET', `/webhooks/${id}/deliveries${query}`);
      found.push(...body.data.deliveries.map(({ seq }: { seq: number }) => seq));
      cursor = body.data.next_cursor;
    }
    expect(found.toSorted((one, other) => one - other)).toEqual([1, 2, 3, 4, 5]);
    const made = Buffer.from(JSON.stringify(['1_x', 'abc'])).toString('base64url');
    const rejected = await fixture.send(guildId, 'GET', `/webhooks/${id}/deliveries?cursor=${made}`);
    expect(rejected.body.details.errors[0].path).toBe('query.cursor');
  });

  test('leaves out attempts that are older than seven days', async () => {
    const guildId = newGuild();
    const receiver = await fixture.receiver();
    const { id } = await fixture.create(guildId, { url: receiver.url });
    await fixture.append(guildId, [recorded(1)]);
    await expect.poll(async () => (await fixture.deliveries(guildId, id)).length, PATIENCE).toBe(1);
    await fixture.time.advance(7 * 24 * 3_600_000 + 1_000);
    expect(await fixture.deliveries(guildId, id)).toEqual([]);
    await fixture.time.advance(-7 * 24 * 3_600_000 - 1_000);
  });
});

describe('POST /webhooks/:id/replay', () => {
  test('from a seq sends all events from there again', async () => {
    const guildId = newGuild();
    const receiver = await fixture.receiver();
    const { id } = await fixture.create(guildId, { url: receiver.url });
    await fixture.append(guildId, recordedFrom(1, 4));
    await receiver.expectSeqs(1, 2, 3, 4);
    await expect.poll(async () => (await fixture.webhook(guildId, id)).delivered_seq, PATIENCE).toBe(4);
    const { status, body } = await fixture.send(guildId, 'POST', `/webhooks/${id}/replay`, { from: 3 });
    expect(status).toBe(200);
    expect(body.data).toMatchObject({ id, delivered_seq: 2 });
    await receiver.expectSeqs(1, 2, 3, 4, 3, 4);
    const gone = await fixture.send(guildId, 'POST', `/webhooks/${id}/replay`, { from: 6 });
    expect(gone.body).toMatchObject({ code: 410, details: { code: 'EVENTS_GONE', oldest_seq: 1, newest_seq: 4 } });
  });

  test('of single events sends each once more, and 404 if one of them is unknown', async () => {
    const guildId = newGuild();
    const receiver = await fixture.receiver();
    const { id } = await fixture.create(guildId, { url: receiver.url });
    await fixture.append(guildId, recordedFrom(1, 3));
    await receiver.expectSeqs(1, 2, 3);
    const ids = receiver.received.map(({ event }) => event.id);
    const replay = (eventIds: unknown) =>
      fixture.send(guildId, 'POST', `/webhooks/${id}/replay`, { event_ids: eventIds });
    expect((await replay([ids[0], randomUUID()])).status).toBe(404);
    expect((await replay([ids[0], ids[2]])).status).toBe(200);
    await receiver.expectSeqs(1, 2, 3, 1, 3);
    expect((await replay(Array.from({ length: 101 }, () => randomUUID()))).status).toBe(400);
    expect((await replay([])).status).toBe(400);
  });

  test('of a disabled webhook is a conflict, and needs exactly one of from and event_ids', async () => {
    const guildId = newGuild();
    await fixture.append(guildId, [recorded(1)]);
    const { id } = await fixture.create(guildId, { url: 'http://127.0.0.1:9000/' });
    const replay = (body: object) => fixture.send(guildId, 'POST', `/webhooks/${id}/replay`, body);
    expect((await replay({})).status).toBe(400);
    expect((await replay({ from: 1, event_ids: [randomUUID()] })).status).toBe(400);
    await fixture.send(guildId, 'PATCH', `/webhooks/${id}`, { enabled: false });
    expect((await replay({ from: 1 })).body.details.code).toBe('CONFLICT');
    expect((await replay({ event_ids: [randomUUID()] })).body.details.code).toBe('CONFLICT');
  });
});

describe('a webhook is disabled', () => {
  test('immediately by a response 410, and the event is sent again after it is enabled', async () => {
    const guildId = newGuild();
    const receiver = await fixture.receiver();
    receiver.respond = (_request, response) => response.writeHead(410).end();
    const { id } = await fixture.create(guildId, { url: receiver.url, types: ['ban.*'] });
    await fixture.append(guildId, recordedFrom(1, 2));
    await expect
      .poll(() => fixture.webhook(guildId, id), PATIENCE)
      .toMatchObject({
        enabled: false,
        disabled_reason: 'gone',
      });
    expect((await fixture.deliveries(guildId, id)).map(({ status }) => status)).toEqual([410]);
    const events = await fixture.read(guildId);
    expect(events.at(-1)).toMatchObject({
      type: 'webhook.disabled',
      source: { kind: 'system', id: 'events' },
      data: { id, disabled_reason: 'gone' },
    });
    receiver.respond = (_request, response) => response.end();
    await fixture.send(guildId, 'PATCH', `/webhooks/${id}`, { enabled: true });
    await receiver.expectSeqs(1, 1, 2);
  });

  test('by the revocation of its key, until another key enables it', async () => {
    const guildId = newGuild();
    const receiver = await fixture.receiver();
    const url = receiver.url;
    const [one, other] = [
      await fixture.create(guildId, { url, types: ['ban.*'] }, { principal: { keyId: `${guildId}-7` } }),
      await fixture.create(guildId, { url, types: ['ban.*'] }, { principal: { keyId: `${guildId}-8` } }),
    ];
    const revoked = recorded(1, { type: 'key.revoked', data: JSON.stringify({ id: `${guildId}-7` }) });
    await fixture.append(guildId, [revoked], 'auth');
    expect(await fixture.webhook(guildId, one.id)).toMatchObject({ enabled: false, disabled_reason: 'key_revoked' });
    expect(await fixture.webhook(guildId, other.id)).toMatchObject({ enabled: true });
    expect((await fixture.read(guildId)).map(({ type }) => type)).toEqual(['key.revoked', 'webhook.disabled']);
    const owner = { principal: { keyId: `${guildId}-8` } };
    await fixture.send(guildId, 'PATCH', `/webhooks/${one.id}`, { enabled: true }, owner);
    await fixture.append(guildId, [recorded(1)]);
    await receiver.expectSeqs(3, 3);
    const again = recorded(2, { type: 'key.leaked', data: JSON.stringify({ id: `${guildId}-8` }) });
    await fixture.append(guildId, [again], 'auth');
    expect(await fixture.webhook(guildId, one.id)).toMatchObject({ enabled: false, disabled_reason: 'key_revoked' });
  });

  test('by no key that was revoked while its request was on the way', async () => {
    const guildId = newGuild();
    const { url } = await fixture.receiver();
    const of = (number: number) => ({ principal: { keyId: `${guildId}-${number}` } });
    const { id } = await fixture.create(guildId, { url }, of(8));
    await fixture.send(guildId, 'PATCH', `/webhooks/${id}`, { enabled: false }, of(8));
    const revoked = recorded(1, { type: 'key.revoked', data: JSON.stringify({ id: `${guildId}-7` }) });
    await fixture.append(guildId, [revoked], 'auth');
    const body = { guild_id: guildId, url, types: ['*'] };
    const created = await fixture.send(guildId, 'POST', '/webhooks', body, of(7));
    expect(created).toMatchObject({ status: 401, body: { details: { code: 'INVALID_API_KEY' } } });
    for (const change of [{ enabled: true }, { url: `${url}/other` }, { types: ['ban.*'] }]) {
      expect((await fixture.send(guildId, 'PATCH', `/webhooks/${id}`, change, of(7))).status).toBe(401);
    }
    expect(await fixture.webhook(guildId, id)).toMatchObject({ url, enabled: false, types: ['*'] });
    expect((await fixture.send(guildId, 'PATCH', `/webhooks/${id}`, { enabled: true }, of(8))).status).toBe(200);
  });
});

test('an endpoint receives no more events of types that its key may no longer read', async () => {
  const guildId = newGuild();
  const receiver = await fixture.receiver();
  const keyId = `${guildId}-7`;
  const principal = { keyId, scopes: ['webhooks:write', 'moderation:read'] };
  const { id } = await fixture.create(guildId, { url: receiver.url }, { principal });
  await fixture.append(guildId, [recorded(1)]);
  await receiver.expectSeqs(1);
  const changed = (number: number, scopes: string[] | null) =>
    recorded(number, { type: 'key.changed', data: JSON.stringify({ id: keyId, scopes }) });
  await fixture.append(guildId, [changed(1, ['webhooks:write'])], 'auth');
  await fixture.append(guildId, [recorded(2)]);
  await expect.poll(async () => (await fixture.webhook(guildId, id)).delivered_seq, PATIENCE).toBe(3);
  expect(receiver.seqs).toEqual([1, 2]);
  await fixture.append(guildId, [changed(2, null)], 'auth');
  await fixture.append(guildId, [recorded(3)]);
  await receiver.expectSeqs(1, 2, 4, 5);
});

test('a request that was admitted before its key lost scopes creates a webhook without them', async () => {
  const guildId = newGuild();
  const receiver = await fixture.receiver();
  const keyId = `${guildId}-7`;
  const data = JSON.stringify({ id: keyId, scopes: ['webhooks:write'] });
  await fixture.append(guildId, [recorded(1, { type: 'key.changed', data })], 'auth');
  const { id } = await fixture.create(guildId, { url: receiver.url }, { principal: { keyId } });
  await fixture.append(guildId, [recorded(1)]);
  await expect.poll(async () => (await fixture.webhook(guildId, id)).delivered_seq, PATIENCE).toBe(2);
  expect(receiver.seqs).toEqual([]);
});
