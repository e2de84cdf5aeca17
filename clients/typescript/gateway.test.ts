import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { startTcpProxy, type TcpProxy } from '../../test/network/tcp-proxy.ts';
import { EventWriter } from '../../test/system/event-writer.ts';
import { GUILD, type Network, startNetwork } from '../../test/system/system.ts';
import type { ClientOptions } from './src/client.ts';
import { GuildData } from './src/guild-data.ts';
import type { EventsArgs, EventsOptions, ResponseInfo } from './src/index.ts';
import { EventsGoneError, InvalidApiKeyError } from './src/operations-errors.ts';

const PATIENCE = { interval: 20, timeout: 20_000 };

let network: Network;
let writer: EventWriter;
let proxy: TcpProxy;
let key: { id: string; secret: string };

beforeAll(async () => {
  // No service relays its events to this log: it contains only the events of the test's writer.
  network = await startNetwork({ environment: { EVENTS_GRPC_ADDRESS: '127.0.0.1:1' } });
  const address = () => network.address('events', 'grpc');
  writer = new EventWriter(GUILD, { address, secret: network.secrets.internal });
  proxy = await startTcpProxy(Number(network.address('gateway', 'http').split(':').at(-1)));
  key = await network.createKey();
});
afterAll(async () => {
  await proxy.close();
  await network.stop();
});

const clientOf = (options: Partial<ClientOptions> = {}) =>
  new GuildData({ key: key.secret, guildId: GUILD, baseUrl: `http://127.0.0.1:${proxy.port}`, ...options });

/** Ends the gateway without warning: its connections are cut, and new ones are refused. */
async function killGateway(): Promise<() => Promise<unknown>> {
  const ports = network.samePorts('gateway');
  await proxy.refuse();
  await network.services.get('gateway')?.stop();
  return async () => {
    await network.startOne('gateway', { ...ports, GATEWAY_PORT: ports['HTTP_PORT'] });
    await proxy.accept();
  };
}

/** Reads events until `stop`. */
function startReading(args: EventsArgs, options: EventsOptions = {}, guild = clientOf()) {
  const controller = new AbortController();
  const seqs: number[] = [];
  const read = async () => {
    for await (const { seq } of guild.events(args, { ...options, signal: controller.signal })) seqs.push(seq);
  };
  const ended = read().catch((error: unknown) => error);
  const stop = () => {
    controller.abort(new Error('enough'));
    return ended;
  };
  return { seqs, ended, stop };
}

describe('pages', () => {
  test('have every row that was there before, once, while others are added and removed', async () => {
    const guild = clientOf();
    const before = Array.from({ length: 11 }, (_, index) => 5_001 + index);
    for (const game_id of before) await guild.banPlayer({ game_id, reason: 'Before' });
    const seen: number[] = [];
    let pages = 0;
    for await (const page of guild.listActiveBansPages({ limit: 3 })) {
      expect(page.bans.length).toBeLessThanOrEqual(3);
      seen.push(...page.bans.map(({ game_id }) => game_id));
      pages++;
      await guild.banPlayer({ game_id: 6_000 + pages, reason: 'During', duration: '1h' });
      const [, ...rest] = seen;
      if (pages === 2) for (const game_id of rest) await guild.unbanPlayer({ game_id });
    }
    expect(pages).toBeGreaterThanOrEqual(4);
    expect(seen.filter((id) => id < 6_000).toSorted((a, b) => a - b)).toEqual(before);
    expect(new Set(seen).size).toBe(seen.length);
  });

  test('continue after an interruption between them', async () => {
    const guild = clientOf();
    const rows: number[] = [];
    let restarting: Promise<unknown> | undefined;
    for await (const { logs } of guild.listModerationLogsPages({ limit: 5 })) {
      rows.push(...logs.map(({ id }) => id));
      if (restarting) continue;
      const start = await killGateway();
      // The next page is requested before the gateway is back.
      restarting = start();
    }
    await restarting;
    const { logs } = await guild.listModerationLogs({ limit: 100 });
    expect(rows).toEqual(logs.map(({ id }) => id));
    expect(rows.length).toBeGreaterThan(10);
  });
});

describe.each(['stream', 'poll'] as const)('events by %s', (transport) => {
  test('are complete and in order although the gateway is killed and restarted', async () => {
    const first = writer.newestSeq;
    const interruptions: unknown[] = [];
    const positions: number[] = [];
    const reader = startReading(
      { after: first, transport },
      { onInterruption: (error) => interruptions.push(error), onPosition: (seq) => positions.push(seq) },
      // Without retries, each interruption is visible as a failed call.
      clientOf({ maxAttempts: 1 }),
    );
    await writer.append(40);
    await vi.waitUntil(() => reader.seqs.length === 40, PATIENCE);
    const start = await killGateway();
    await writer.append(100);
    await start();
    await writer.append(10);
    await vi.waitUntil(() => reader.seqs.length >= 150, PATIENCE);
    expect(reader.seqs).toEqual(writer.seqs(first));
    expect(interruptions.length).toBeGreaterThan(0);
    expect(positions.at(-1)).toBeGreaterThanOrEqual(writer.newestSeq - 1);
    expect(await reader.stop()).toMatchObject({ message: 'enough' });
  });

  test('continue after the gateway has drained', async () => {
    const reader = startReading({ after: writer.newestSeq, transport });
    const first = writer.newestSeq;
    await writer.append(1);
    await vi.waitUntil(() => reader.seqs.length === 1, PATIENCE);
    const ports = network.samePorts('gateway');
    await network.services.get('gateway')?.stop();
    await network.startOne('gateway', { ...ports, GATEWAY_PORT: ports['HTTP_PORT'] });
    await writer.append(5);
    await vi.waitUntil(() => reader.seqs.length === 6, PATIENCE);
    expect(reader.seqs).toEqual(writer.seqs(first));
    await reader.stop();
  });

  test('that the log no longer has are a typed error with the position', async () => {
    const reader = startReading({ after: writer.newestSeq + 1, transport });
    const error = await reader.ended;
    expect(error).toBeInstanceOf(EventsGoneError);
    expect((error as EventsGoneError).details.newest_seq).toBe(writer.newestSeq);
  });

  test('end with an error when the key is revoked', async () => {
    const own = await network.createKey();
    const reader = startReading({ after: writer.newestSeq, transport }, {}, clientOf({ key: own.secret }));
    await writer.append(1);
    await vi.waitUntil(() => reader.seqs.length === 1, PATIENCE);
    await network.admin().revokeKey({ keyId: own.id, actor: 'test' });
    // A poll only notices it with its next request.
    const appending = setInterval(() => void writer.append(1), 200);
    expect(await reader.ended).toBeInstanceOf(InvalidApiKeyError);
    clearInterval(appending);
  });

  test('end when the program breaks out of the loop, and their connection is closed', async () => {
    for await (const { seq } of clientOf().events({ after: 0, transport })) {
      expect(seq).toBe(1);
      break;
    }
    await vi.waitUntil(async () => (await openStreams()) === 0, PATIENCE);
  });
});

test('events of other types are left out, and the position still advances', async () => {
  let position = 0;
  const options = { onPosition: (seq: number) => (position = seq) };
  const reader = startReading({ after: writer.newestSeq - 1, types: ['link.*'] }, options);
  // A stream reports the position with its comments, every 15 s.
  await vi.waitUntil(() => position === writer.newestSeq, PATIENCE);
  expect(reader.seqs).toEqual([]);
  await reader.stop();
});

async function openStreams(): Promise<number> {
  const page = await (await fetch(`http://${network.address('gateway', 'admin')}/metrics`)).text();
  return Number(/^gateway_event_streams (\d+)$/m.exec(page)?.[1]);
}

test('a write whose response was lost is done once, and the call returns the stored response', async () => {
  const responses: ResponseInfo[] = [];
  let requests = 0;
  const guild = clientOf({
    onResponse: (response) => responses.push(response),
    fetch: async (input, init) => {
      const response = await fetch(input, init);
      if (++requests > 1) return response;
      await response.text();
      throw new TypeError('connection reset');
    },
  });
  const ban = await guild.banPlayer({ game_id: 7_777, reason: 'Only once' });
  expect(ban).toMatchObject({ game_id: 7_777, reason: 'Only once' });
  expect(responses.map(({ headers }) => headers.get('idempotency-replayed'))).toEqual(['true']);
  const { logs } = await clientOf().listModerationLogs({ game_id: 7_777 });
  expect(logs.map(({ action }) => action)).toEqual(['ban']);
});
