import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { RunningService } from '#kit/service/service.ts';
import { EventsFixture, newGuild, recorded } from './fixture.ts';
import { appendRecorded } from './store/log.ts';

const fixture = new EventsFixture();
let replica: RunningService;
beforeAll(async () => {
  await fixture.start({ MAX_WAITING_POLLS: '20' });
  replica = await fixture.startEvents();
});
afterAll(async () => {
  await replica.stop();
  await fixture.stop();
});

const waiting = (at = fixture.events) => fixture.metric('events_waiting_polls', '', at);

describe('a request with wait', () => {
  test.each([
    ['the same process', () => fixture.events],
    ['another process', () => replica],
  ])('is answered soon after an event was stored by %s', async (_title, at) => {
    const guildId = newGuild();
    const poll = fixture.list(guildId, '?after=0&wait=20', { at: at() });
    await expect.poll(() => waiting(at())).toBe(1);
    const started = performance.now();
    await fixture.append(guildId, [recorded(1)]);
    expect((await poll).body.data).toMatchObject({ events: [{ seq: 1 }], next_after: 1, oldest_seq: 1 });
    expect(performance.now() - started).toBeLessThan(2_000);
    await expect.poll(() => waiting(at())).toBe(0);
  });

  test('is answered at once if there are events', async () => {
    const guildId = newGuild();
    await fixture.append(guildId, [recorded(1)]);
    const started = performance.now();
    expect((await fixture.list(guildId, '?after=0&wait=20')).body.data.next_after).toBe(1);
    expect(performance.now() - started).toBeLessThan(5_000);
  });

  test('is answered without events at the end of its time, with what was examined', async () => {
    const guildId = newGuild();
    const poll = fixture.list(guildId, '?after=0&wait=2&types=link.*');
    await expect.poll(() => waiting()).toBe(1);
    await fixture.append(guildId, [recorded(1), recorded(2)]);
    const { status, body } = await poll;
    expect(status).toBe(200);
    expect(body.data).toEqual({ events: [], next_after: 2, oldest_seq: 1 });
  });

  test('skips events of other types and gets its own, each poll of a guild for itself', async () => {
    const guildId = newGuild();
    const polls = ['ban.*', 'link.*'].map((types) => fixture.list(guildId, `?after=0&wait=20&types=${types}`));
    await expect.poll(() => waiting()).toBe(2);
    await fixture.append(guildId, [recorded(1, { type: 'session.started' })]);
    await fixture.append(guildId, [recorded(2, { type: 'ban.created' }), recorded(3, { type: 'link.created' })]);
    const [bans, links] = await Promise.all(polls);
    expect(bans?.body.data).toMatchObject({ events: [{ seq: 2 }] });
    expect(links?.body.data).toMatchObject({ events: [{ seq: 3 }] });
  });

  test('finds an event whose notification was lost', async () => {
    const guildId = newGuild();
    const poll = fixture.list(guildId, '?after=0&wait=20');
    await expect.poll(() => waiting()).toBe(1);
    const event = { ...recorded(1), guildId, source: { kind: 'system', id: 'x' } as const };
    await appendRecorded(fixture.database, 'moderation', [event]);
    expect((await poll).body.data.next_after).toBe(1);
  });

  test('ends when its client disconnects', async () => {
    const client = new AbortController();
    const poll = fixture.list(newGuild(), '?wait=20', { signal: client.signal }).catch(() => 'disconnected');
    await expect.poll(() => waiting()).toBe(1);
    client.abort();
    expect(await poll).toBe('disconnected');
    await expect.poll(() => waiting()).toBe(0);
  });

  test('above the share of its guild does not wait, and polls of other guilds do', async () => {
    const guildId = newGuild();
    const client = new AbortController();
    const poll = (guild: string) => fixture.list(guild, '?wait=20', { signal: client.signal }).catch(() => undefined);
    const polls = [poll(guildId), poll(guildId)];
    await expect.poll(() => waiting()).toBe(2);
    expect((await fixture.list(guildId, '?wait=20')).body.data.events).toEqual([]);
    polls.push(poll(newGuild()));
    await expect.poll(() => waiting()).toBe(3);
    client.abort();
    await Promise.all(polls);
    await expect.poll(() => waiting()).toBe(0);
  });

  test('is answered without events when its process drains', async () => {
    const own = await fixture.startEvents();
    const poll = fixture.list(newGuild(), '?wait=20', { at: own });
    await expect.poll(() => waiting(own)).toBe(1);
    await own.stop();
    expect((await poll).body.data).toEqual({ events: [], next_after: 0, oldest_seq: 1 });
  });
});

test('waiting polls hold no database connection', async () => {
  const client = new AbortController();
  const poll = () => fixture.list(newGuild(), '?wait=20', { signal: client.signal }).catch(() => undefined);
  const polls = Array.from({ length: 15 }, poll);
  await expect.poll(() => waiting()).toBe(15);
  await expect.poll(() => fixture.metric('postgres_pool_connections', '{state="used"}')).toBe(0);
  expect((await fixture.list(newGuild())).status).toBe(200);
  client.abort();
  await Promise.all(polls);
});
