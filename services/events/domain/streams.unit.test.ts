import { expect, test } from 'vitest';
import type { Database } from '#kit/postgres/pool.ts';
import type { ReadEvents } from '../store/log.ts';
import type { EventsTelemetry } from '../telemetry/log.ts';
import type { StreamSink } from './event-stream.ts';
import type { EventLog } from './log.ts';
import type { LogEvent } from './log-event.ts';
import { Streams } from './streams.ts';
import { Wakeups } from './wakeups.ts';

const GUILD = '900000000000000001';
const TYPE = 'ban.created';

/** What a read finds when the log has events up to `newestSeq`. */
const foundAfter = (after: number, newestSeq: number): ReadEvents => ({
  events: Array.from({ length: newestSeq - after }, (_, index) => {
    const seq = after + 1 + index;
    const source = { kind: 'system', id: 'moderation' } as const;
    return { guildId: GUILD, id: String(seq), seq, type: TYPE, createdAt: new Date(0), source, data: {} };
  }),
  examinedSeq: newestSeq,
  oldestSeq: 1,
  newestSeq,
});

class Sink implements StreamSink {
  readonly seqs: number[] = [];

  write(events: readonly LogEvent[]): boolean {
    this.seqs.push(...events.map(({ seq }) => seq));
    return true;
  }

  comment(): void {}

  end(): void {}
}

test('a stream that is woken by an event does not share a read that began before the event was stored', async () => {
  let newestSeq = 41;
  const slow = Promise.withResolvers<void>();
  let isSlow = false;
  const read = async ({ after }: { after: number }) => {
    const found = foundAfter(after, newestSeq);
    if (isSlow) await slow.promise;
    return found;
  };
  const wakeups = new Wakeups();
  const streams = new Streams({
    log: { read } as unknown as EventLog,
    database: { query: () => Promise.reject(new Error('not available')) } as unknown as Database,
    wakeups,
    telemetry: { streamEnded: () => undefined } as unknown as EventsTelemetry,
    lostElsewhere: () => undefined,
    maxStreams: 10,
  });
  await streams.start();
  const request = { guildId: GUILD, types: [TYPE], after: 41 };
  const [idle, other] = [new Sink(), new Sink()];
  streams.open(request, foundAfter(41, 41), idle);
  // The read of the new stream ends.
  await new Promise(setImmediate);
  isSlow = true;
  streams.open(request, foundAfter(41, 41), other);
  await new Promise(setImmediate);
  isSlow = false;
  newestSeq = 42;
  wakeups.wake([GUILD]);
  slow.resolve();
  await new Promise(setImmediate);
  expect(other.seqs).toEqual([42]);
  expect(idle.seqs).toEqual([42]);
  await streams.stop();
});
