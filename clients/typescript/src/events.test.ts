import { afterEach, expect, test } from 'vitest';
import { clientOf, fail, manualRuntime, type ScriptedServer, type Step, startScriptedServer } from '../fixture.ts';
import type { EventsArgs, EventsOptions } from './events.ts';
import { MissingScopeError } from './operations-errors.ts';

let server: ScriptedServer;
afterEach(() => server.stop());

/** Sends parts of a stream; then ends it, or leaves it open without a further byte. */
const stream =
  (text: string, { isOpen = false } = {}): Step =>
  (response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    if (isOpen) response.write(text);
    else response.end(text);
  };
const event = (seq: number) => `id: ${seq}\nevent: link.created\ndata: {"seq":${seq},"type":"link.created"}\n\n`;

/** Reads the first events of a server with these steps. */
async function read(count: number, steps: readonly Step[], args: EventsArgs = {}, options: EventsOptions = {}) {
  server = await startScriptedServer(steps);
  const runtime = manualRuntime();
  const seqs: number[] = [];
  for await (const { seq } of clientOf(server, { runtime, maxAttempts: 1 }).events(args, options)) {
    seqs.push(seq);
    if (seqs.length === count) break;
  }
  const sent = server.received.map(({ url, headers }) => [url.replace(/^.*\/events/, ''), headers['last-event-id']]);
  return { seqs, sent, waits: runtime.waits };
}

test('a silent stream is opened again where it was', async () => {
  const steps = [stream(event(5), { isOpen: true }), stream(event(6), { isOpen: true })];
  const { seqs, sent, waits } = await read(2, steps, { after: 4 }, { idleTimeoutMs: 100 });
  expect([seqs, waits]).toEqual([[5, 6], [250]]);
  expect(sent).toEqual([
    ['/stream', '4'],
    ['/stream', '5'],
  ]);
});

test('a stream that ends with retry is opened again after that time', async () => {
  const steps = [stream(`${event(5)}retry: 7000\n\n`), stream(event(6))];
  expect(await read(2, steps)).toMatchObject({ seqs: [5, 6], waits: [7_000] });
});

test('failures wait longer each time, until an event arrives', async () => {
  const busy = fail(503, 'UNAVAILABLE');
  const steps = [busy, busy, busy, stream(event(5)), busy, stream(event(6))];
  const { waits } = await read(2, steps);
  // The random number is 0.5, so that each wait is half of its maximum.
  expect(waits).toEqual([250, 500, 1_000, 250, 500]);
});

test('the position of events that were left out counts too', async () => {
  const steps = [stream(': examined\nid: 9\n\n'), stream(event(12))];
  const { sent } = await read(1, steps, { after: 4, types: ['link.*', 'ban.created'] });
  expect(sent).toEqual([
    ['/stream?types=link.*%2Cban.created', '4'],
    ['/stream?types=link.*%2Cban.created', '9'],
  ]);
});

test('interruptions are reported, and an error that waiting does not repair ends the events', async () => {
  const interruptions: [string | undefined, number][] = [];
  const options: EventsOptions = { onInterruption: (error, delay) => interruptions.push([error?.code, delay]) };
  const steps = [fail(503, 'UNAVAILABLE', { 'retry-after': '2' }), stream(''), fail(403, 'MISSING_SCOPE')];
  await expect(read(1, steps, {}, options)).rejects.toBeInstanceOf(MissingScopeError);
  expect(interruptions).toEqual([
    ['UNAVAILABLE', 2_500],
    [undefined, 500],
  ]);
});
