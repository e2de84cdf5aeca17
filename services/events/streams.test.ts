import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { EventsFixture, newGuild, recordedFrom } from './fixture.ts';

const fixture = new EventsFixture();
beforeAll(() => fixture.start());
afterAll(() => fixture.stop());

const upTo = (last: number, first = 1) => Array.from({ length: last - first + 1 }, (_, index) => first + index);

describe('a stream', () => {
  test('has the stored events in their order, and then each new one', async () => {
    const guildId = newGuild();
    for (let first = 1; first < 250; first += 50) await fixture.append(guildId, recordedFrom(first, 50));
    const reader = await fixture.stream(guildId);
    expect(reader.status).toBe(200);
    expect(reader.response.headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    });
    await expect.poll(() => reader.seqs).toEqual(upTo(250));
    await fixture.append(guildId, recordedFrom(251, 40));
    await expect.poll(() => reader.seqs).toEqual(upTo(290));
    const [event] = (await fixture.read(guildId, 41)).slice(0, 1);
    expect(reader.events[41]).toEqual({ id: '42', event: 'ban.created', data: JSON.stringify(event) });
  });

  test('continues after Last-Event-ID, which wins over `after`', async () => {
    const guildId = newGuild();
    await fixture.append(guildId, recordedFrom(1, 10));
    const after = await fixture.stream(guildId, '?after=7');
    const last = await fixture.stream(guildId, '?after=7', { lastEventId: '3' });
    await expect.poll(() => after.seqs).toEqual([8, 9, 10]);
    await expect.poll(() => last.seqs).toEqual(upTo(10, 4));
  });

  test('has an event that another process stored', async () => {
    const guildId = newGuild();
    const other = await fixture.startEvents();
    const reader = await fixture.stream(guildId, '', { at: other });
    await fixture.append(guildId, recordedFrom(1, 3));
    await expect.poll(() => reader.seqs).toEqual([1, 2, 3]);
    await other.stop();
    expect(reader.hasEnded).toBe(true);
  });

  test('leaves out what the key may not read, and what was not asked for', async () => {
    const guildId = newGuild();
    const principal = { legacy: false, scopes: ['events:read', 'moderation:read'] };
    await fixture.append(guildId, recordedFrom(1, 2, { type: 'link.created' }));
    await fixture.append(guildId, recordedFrom(3, 2, { type: 'ban.lifted' }));
    await fixture.append(guildId, recordedFrom(5, 1));
    const visible = await fixture.stream(guildId, '', { principal });
    const wanted = await fixture.stream(guildId, '?types=ban.lifted,link.*', { principal });
    await expect.poll(() => visible.seqs).toEqual([3, 4, 5]);
    await expect.poll(() => wanted.seqs).toEqual([3, 4]);
  });

  test('hides the person who caused an event without moderation:read', async () => {
    const guildId = newGuild();
    const source = { kind: 'console', id: '920000000000000001' };
    await fixture.append(guildId, recordedFrom(1, 1, { source, type: 'binding.created' }));
    const hidden = await fixture.stream(guildId, '', { principal: { legacy: false, scopes: ['events:read'] } });
    const shown = await fixture.stream(guildId);
    await expect.poll(() => [...hidden.events, ...shown.events].length).toBe(2);
    const sourceOf = ({ events: [event] }: typeof hidden) => JSON.parse(event?.data ?? '').source;
    expect([sourceOf(hidden), sourceOf(shown)]).toEqual([{ kind: 'console', id: null }, source]);
  });

  test('without events has a comment every 15 s, with the id of what was left out', async () => {
    const guildId = newGuild();
    await fixture.append(guildId, recordedFrom(1, 4));
    const reader = await fixture.stream(guildId, '?types=link.created');
    const complete = await fixture.stream(guildId);
    const openedAt = Date.now();
    await expect.poll(() => reader.frames, { timeout: 20_000 }).toEqual([{ id: '4' }]);
    await expect.poll(() => complete.frames.length, { timeout: 20_000 }).toBe(5);
    expect(complete.frames.at(-1)).toEqual({});
    await expect.poll(() => reader.frames, { timeout: 20_000 }).toEqual([{ id: '4' }, {}]);
    expect(Date.now() - openedAt).toBeGreaterThan(15_000);
  });

  test('is a 410 if its events are gone, and a 400 if its position is no number', async () => {
    const guildId = newGuild();
    await fixture.append(guildId, recordedFrom(1, 4));
    const gone = await fixture.stream(guildId, '?after=5');
    const invalid = await fixture.stream(guildId, '?after=x&types=none', { lastEventId: 'abc' });
    await expect
      .poll(() => gone.rest && JSON.parse(gone.rest))
      .toMatchObject({
        details: { code: 'EVENTS_GONE', oldest_seq: 1, newest_seq: 4 },
      });
    await expect.poll(() => invalid.rest).not.toBe('');
    const { details } = JSON.parse(invalid.rest);
    expect(details.errors.map(({ path }: { path: string }) => path).toSorted()).toEqual([
      'header.Last-Event-ID',
      'query.after',
      'query.types',
    ]);
    expect([gone.status, invalid.status]).toEqual([410, 400]);
  });

  test('frees everything when its reader disconnects', async () => {
    const guildId = newGuild();
    const open = () => fixture.metric('events_open_streams');
    const rows = () => fixture.database.query('SELECT id FROM events.streams WHERE guild_id = $1', [guildId]);
    const before = await open();
    const reader = await fixture.stream(guildId);
    await expect.poll(rows).toHaveLength(1);
    expect(await open()).toBe((before ?? 0) + 1);
    reader.close();
    await expect.poll(open).toBe(before);
    await expect.poll(rows).toHaveLength(0);
  });
});

describe('a reader that does not read', () => {
  test('is ended with retry when 1 MiB was stored meanwhile, and delays no other reader', {
    timeout: 120_000,
  }, async () => {
    const guildId = newGuild();
    const slow = await fixture.stream(guildId);
    const quick = await fixture.stream(guildId);
    slow.pause();
    const data = JSON.stringify({ text: 'x'.repeat(18_000) });
    const ends = () => fixture.metric('events_stream_ends_total', '{reason="behind"}');
    let count = 0;
    // The sockets of both sides take some megabytes before the stream is blocked.
    while ((await ends()) === 0 && count < 4_000) {
      await fixture.append(guildId, recordedFrom(count + 1, 40, { data }));
      count += 40;
      await expect.poll(() => quick.seqs.length, { interval: 5 }).toBe(count);
    }
    await expect.poll(ends, { timeout: 10_000 }).toBe(1);
    expect(quick.hasEnded).toBe(false);
    expect(quick.seqs).toEqual(upTo(count));
    slow.response.resume();
    await expect.poll(() => slow.hasEnded).toBe(true);
    expect(slow.seqs).toEqual(upTo(slow.seqs.length));
    expect(slow.isCut).toBe(false);
    expect(slow.retry).toBeGreaterThan(0);
  });

  test('is not ended while little is stored', async () => {
    const guildId = newGuild();
    const slow = await fixture.stream(guildId);
    slow.pause();
    await fixture.append(guildId, recordedFrom(1, 40));
    await wait(3_000);
    slow.response.resume();
    await expect.poll(() => slow.seqs).toEqual(upTo(40));
    expect(slow.hasEnded).toBe(false);
  });
});
