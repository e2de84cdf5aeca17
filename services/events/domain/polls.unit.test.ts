import { setImmediate as turn } from 'node:timers/promises';
import { expect, test, vi } from 'vitest';
import type { ReadEvents, ReadRequest } from '../store/log.ts';
import type { LogEvent } from './log-event.ts';
import { Polls } from './polls.ts';
import { Wakeups } from './wakeups.ts';

const GUILD = '900000000000000001';
const SIGNAL = new AbortController().signal;

/** A log in memory, with the polls that read it. */
async function start(maxWaiting = 100_000) {
  const events: LogEvent[] = [];
  const read = vi.fn<(request: ReadRequest) => Promise<ReadEvents>>(async ({ after, types, limit }) => {
    await turn();
    const found = events.filter(({ seq, type }) => seq > (after ?? 0) && types.includes(type)).slice(0, limit);
    const newestSeq = events.length;
    const examinedSeq = found.length === limit ? (found.at(-1)?.seq ?? 0) : newestSeq;
    return { events: found, examinedSeq, oldestSeq: 1, newestSeq };
  });
  const wakeups = new Wakeups();
  const newestSeqs = vi.fn<() => Promise<{ guildId: string; newestSeq: number }[]>>(async () => [
    { guildId: GUILD, newestSeq: events.length },
  ]);
  const polls = new Polls({ log: { read }, wakeups, newestSeqs, maxWaiting });
  await polls.start();
  const add = (type = 'ban.created') => {
    const seq = events.length + 1;
    const source = { kind: 'system', id: 'x' } as const;
    events.push({ guildId: GUILD, id: String(seq), seq, type, createdAt: new Date(), source, data: {} });
  };
  const poll = (after: number, types = ['ban.created'], limit = 100) =>
    polls.poll({ guildId: GUILD, after, types, limit, maxBytes: 1e6 }, 60_000, SIGNAL);
  return { polls, read, wakeups, newestSeqs, add, poll };
}

test('thousands of polls of a guild share one read, however often the guild is woken meanwhile', async () => {
  const { polls, read, wakeups, add, poll } = await start();
  const waiting = Array.from({ length: 5_000 }, () => poll(0));
  await vi.waitFor(() => expect(polls.size).toBe(5_000));
  read.mockClear();
  add();
  for (let time = 0; time < 50; time++) wakeups.wake([GUILD]);
  const results = await Promise.all(waiting);
  expect(results.every(({ events }) => events.length === 1)).toBe(true);
  expect(read.mock.calls.length).toBeLessThanOrEqual(2);
  await polls.drain();
});

test('polls of a shared read get their own types, seqs and limits', async () => {
  const { polls, wakeups, add, poll } = await start();
  add();
  const waiting = [poll(1), poll(1, ['link.created']), poll(1, ['ban.created', 'link.created'], 1)];
  await vi.waitFor(() => expect(polls.size).toBe(3));
  for (const type of ['ban.created', 'link.created', 'ban.created']) add(type);
  wakeups.wake([GUILD]);
  const results = await Promise.all(waiting);
  expect(results.map(({ events, examinedSeq }) => [events.map(({ seq }) => seq), examinedSeq])).toEqual([
    [[2, 4], 4],
    [[3], 4],
    [[2], 2],
  ]);
  await polls.drain();
});

test('an event that is stored between the read of a poll and its wait is found', async () => {
  const { polls, read, wakeups, add, poll } = await start();
  const plain = read.getMockImplementation();
  read.mockImplementationOnce(async (request) => {
    const result = await plain?.(request);
    add();
    wakeups.wake([GUILD]);
    return result as ReadEvents;
  });
  expect((await poll(0)).events).toHaveLength(1);
  await polls.drain();
});

test('after missed notifications only guilds with new events are read', async () => {
  const { polls, read, wakeups, newestSeqs, add, poll } = await start();
  const waiting = poll(0);
  await vi.waitFor(() => expect(polls.size).toBe(1));
  read.mockClear();
  wakeups.wake();
  await vi.waitFor(() => expect(newestSeqs).toHaveBeenCalledTimes(1));
  await turn();
  expect(read).not.toHaveBeenCalled();
  add();
  wakeups.wake();
  expect((await waiting).events).toHaveLength(1);
  await polls.drain();
});

test('a failed read rejects the polls that wait for it, and the next poll reads again', async () => {
  const { polls, read, wakeups, add, poll } = await start();
  const waiting = poll(0);
  await vi.waitFor(() => expect(polls.size).toBe(1));
  read.mockRejectedValueOnce(new Error('database'));
  wakeups.wake([GUILD]);
  await expect(waiting).rejects.toThrow('database');
  expect(polls.size).toBe(0);
  add();
  expect((await poll(0)).events).toHaveLength(1);
  await polls.drain();
});

test('a guild holds at most a tenth of the waiting polls', async () => {
  const { polls, poll } = await start(50);
  const waiting = Array.from({ length: 8 }, () => poll(0));
  await vi.waitFor(() => expect(polls.size).toBe(5));
  await polls.drain();
  expect((await Promise.all(waiting)).every(({ events }) => events.length === 0)).toBe(true);
});
