import { once } from 'node:events';
import { createServer } from 'node:net';
import { Client, type ClientReadableStream, credentials, type ServiceError, status } from '@grpc/grpc-js';
import { pino } from 'pino';
import { afterEach, expect, test, vi } from 'vitest';
import { Breakers } from './breaker.ts';
import { type Clock, ManualClock, systemClock } from './clock.ts';
import { requestContext } from './context.ts';
import { ApiError } from './errors.ts';
import { type Counted, SampleService } from './fixtures/sample.ts';
import { type GrpcHandlers, GrpcServer } from './grpc.ts';
import { GrpcChannel, isGrpcFailure } from './grpc-client.ts';
import { fromStatus } from './grpc-errors.ts';
import { Readiness } from './health.ts';
import { Metrics } from './metrics.ts';
import { SecretRing } from './secrets.ts';

const SECRET = 'the secret of these tests, long enough';
const OTHER = 'another secret, which is long enough too';
const log = pino({ level: 'silent' });
const cleanUps: (() => unknown)[] = [];
const UNAVAILABLE = expect.objectContaining({ code: 'UNAVAILABLE' });
const INTERNAL = expect.objectContaining({ code: 'INTERNAL' });

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp();
});

type Handlers = GrpcHandlers<typeof SampleService>;

const HANDLERS: Handlers = {
  say: async ({ text }) => ({ text: `${text}!` }),
  count: async (_request, stream) => [1, 2].forEach((count) => stream.write({ count })),
};

interface Own {
  host?: string;
  port?: number;
  reflection?: boolean;
}

async function serve(handlers: Partial<Handlers> = {}, own: Own = {}) {
  const metrics = new Metrics();
  const readiness = new Readiness();
  const listen = { host: '127.0.0.1', port: 0, reflection: false, ...own };
  const server = new GrpcServer({ service: 'sample', clock: systemClock, metrics, log, readiness, ...listen });
  server.add(SampleService, { ...HANDLERS, ...handlers }, new SecretRing([SECRET]));
  cleanUps.push(() => server.stop());
  await server.start();
  return { server, metrics, readiness };
}

interface Caller {
  secret?: string;
  clock?: Clock;
  audience?: string;
  deadlineMs?: number;
}

function connect(
  address: string,
  { secret = SECRET, clock = systemClock, audience = 'sample', deadlineMs }: Caller = {},
) {
  const metrics = new Metrics();
  const breakers = new Breakers(metrics);
  const breaker = breakers.create('sample', isGrpcFailure);
  const ring = new SecretRing([secret]);
  const channel = new GrpcChannel({ caller: 'test', audience, address, ring, clock, metrics, breaker, deadlineMs });
  cleanUps.push(() => {
    channel.close();
    breakers.stop();
  });
  return { channel, metrics, methods: channel.methods(SampleService) };
}

/** What came of a stream: its messages, and the error that it ended with, if any. */
async function readAll(stream: ClientReadableStream<Counted>): Promise<{ counts: number[]; error?: ApiError }> {
  const counts: number[] = [];
  try {
    for await (const { count } of stream) counts.push(count as number);
    return { counts };
  } catch (error) {
    return { counts, error: fromStatus(error as ServiceError) };
  }
}

test('a call is answered, and the request ID goes with it', async () => {
  const say = async () => ({ text: String(requestContext.getStore()?.requestId) });
  const { server } = await serve({ say });
  const { methods } = connect(server.address);
  const call = () => methods.say({ text: 'a' });
  expect(await requestContext.run({ requestId: 'request-1', route: 'x' }, call)).toEqual({ text: 'request-1' });
  expect((await call()).text).toMatch(/^[0-9a-f-]{36}$/);
});

test('an error arrives as it was thrown, with hundreds of faults too', async () => {
  const errors = Array.from({ length: 300 }, (_, index) => ({
    path: `request.ids[${index}]`,
    message: 'must be ünique',
  }));
  const error = new ApiError('UNAVAILABLE', {
    message: 'späte',
    details: { errors },
    retryAfter: 9,
    cause: new Error('hidden'),
  });
  const { server } = await serve({ say: () => Promise.reject(error) });
  const { message, details, retryAfter } = error;
  await expect(connect(server.address).methods.say({ text: '' })).rejects.toMatchObject({
    code: 'UNAVAILABLE',
    message,
    details,
    retryAfter,
  });
});

test.each([
  [
    'throws before it returns a promise',
    () => {
      throw new Error('hidden');
    },
  ],
  ['rejects with something that is no error', () => Promise.reject('hidden')],
  ['answers what can not be sent', () => Promise.resolve(undefined as unknown)],
  ['throws what can not be told', () => Promise.reject(new ApiError('NOT_FOUND', { details: { number: 1n } }))],
])('a handler that %s is INTERNAL, without its words, and the server serves on', async (_how, say) => {
  const { server } = await serve({ say: say as Handlers['say'] });
  const { methods } = connect(server.address);
  const error = await methods.say({ text: '' }).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: 'INTERNAL', message: 'Something went wrong on our side' });
  expect((await readAll(methods.count({ text: '' }))).counts).toEqual([1, 2]);
});

test.each<[string, Caller]>([
  ['another secret', { secret: OTHER }],
  ['another service', { audience: 'other' }],
  ['the past', { clock: new ManualClock(Date.now() - 40_000) }],
  ['the future', { clock: new ManualClock(Date.now() + 40_000) }],
])(
  'a call with a token of %s is refused, unary and stream; the caller is told a fault of ours',
  async (_what, caller) => {
    const say = vi.fn<Handlers['say']>(HANDLERS.say);
    const { server, metrics } = await serve({ say });
    const { methods } = connect(server.address, caller);
    await expect(methods.say({ text: '' })).rejects.toThrow(INTERNAL);
    expect(await readAll(methods.count({ text: '' }))).toEqual({ counts: [], error: INTERNAL });
    expect(say).not.toHaveBeenCalled();
    const handled = await metrics.registry.getSingleMetricAsString('grpc_server_handled_total');
    expect(handled).toContain(`{method="${SampleService.say.path}",code="UNAUTHENTICATED"} 1`);
  },
);

/** The answer of a method in bytes, called without a token. */
function bare(address: string, path: string, message = Buffer.alloc(0)): Promise<Buffer> {
  const client = new Client(address, credentials.createInsecure());
  cleanUps.push(() => client.close());
  const same = (bytes: Buffer) => bytes;
  return new Promise((resolve, reject) => {
    client.makeUnaryRequest(path, same, same, message, { deadline: Date.now() + 3_000 }, (error, answer) =>
      error ? reject(error) : resolve(answer as Buffer),
    );
  });
}

test('a call without a token is UNAUTHENTICATED', async () => {
  const { server } = await serve();
  const refused = expect.objectContaining({ code: status.UNAUTHENTICATED });
  for (const { path } of Object.values(SampleService)) {
    await expect(bare(server.address, path, Buffer.from('{}'))).rejects.toThrow(refused);
  }
});

test('the health protocol needs no token and follows readiness', async () => {
  const { server, readiness } = await serve();
  const check = () => bare(server.address, '/grpc.health.v1.Health/Check');
  const [serving, notServing] = [Buffer.from([8, 1]), Buffer.from([8, 2])];
  expect(await check()).toEqual(notServing);
  readiness.set(true);
  expect(await check()).toEqual(serving);
  readiness.set(false);
  expect(await check()).toEqual(notServing);
});

test.each([true, false])('reflection is there when it is wanted: %s', async (reflection) => {
  const { server } = await serve({}, { reflection });
  const listServices = Buffer.from([0x3a, 0]);
  const asked = bare(server.address, '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo', listServices);
  const answer = await asked.catch((error: ServiceError) => status[error.code]);
  expect(answer?.toString()).toContain(reflection ? 'guild.auth.v1.AuthService' : 'UNIMPLEMENTED');
});

test('a stream hands over its messages and ends with its handler, or with its error', async () => {
  const { server } = await serve();
  expect(await readAll(connect(server.address).methods.count({ text: '' }))).toEqual({ counts: [1, 2] });
  const failing = await serve({
    count: async (_request, stream) => {
      stream.write({ count: 1 });
      throw new ApiError('NOT_FOUND', { details: { what: 'it' } });
    },
  });
  const { counts, error } = await readAll(connect(failing.server.address).methods.count({ text: '' }));
  expect(counts).toEqual([1]);
  expect(error).toMatchObject({ code: 'NOT_FOUND', details: { what: 'it' } });
});

test.each([
  ['returns', async () => undefined],
  ['throws', () => Promise.reject(new Error('after the end'))],
])('a caller that goes aborts its stream; a handler that then writes and %s harms nobody', async (_how, end) => {
  const aborted = Promise.withResolvers<void>();
  const { server } = await serve({
    count: async (_request, stream) => {
      stream.write({ count: 1 });
      if (!stream.signal.aborted) await once(stream.signal, 'abort');
      stream.write({ count: 2 });
      aborted.resolve();
      await end();
    },
  });
  const { methods } = connect(server.address);
  const stream = methods.count({ text: '' });
  stream.on('error', () => undefined);
  await once(stream, 'data');
  stream.cancel();
  await aborted.promise;
  expect(await methods.say({ text: 'on' })).toEqual({ text: 'on!' });
});

test('a drain answers what is under way, ends streams without an error, and takes nothing new', async () => {
  const entered = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const failed = vi.fn<() => void>();
  const { server, metrics } = await serve({
    say: async ({ text }) => {
      entered.resolve();
      await release.promise;
      return { text };
    },
    // Woken by the abort as an error, as timers and events with a signal are.
    count: async (_request, stream) => {
      stream.write({ count: 1 });
      await once(new EventTarget(), 'never', { signal: stream.signal });
    },
  });
  const { methods } = connect(server.address);
  const said = methods.say({ text: 'under way' });
  const counted = readAll(methods.count({ text: '' }));
  await entered.promise;
  const drained = server.drain().then(() => failed());
  expect(await counted).toEqual({ counts: [1] });
  const late = connect(server.address, { deadlineMs: 100 });
  await expect(late.methods.say({ text: 'new' })).rejects.toThrow(UNAVAILABLE);
  expect(failed).not.toHaveBeenCalled();
  release.resolve();
  expect(await said).toEqual({ text: 'under way' });
  await drained;
  const handled = await metrics.registry.getSingleMetricAsString('grpc_server_handled_total');
  expect(handled).toContain(`{method="${SampleService.count.path}",code="OK"} 1`);
});

test('a server that is made to stop tells UNAVAILABLE', async () => {
  const entered = Promise.withResolvers<void>();
  const { server } = await serve({
    say: () => {
      entered.resolve();
      return new Promise(() => undefined);
    },
  });
  const { methods } = connect(server.address);
  const said = methods.say({ text: '' }).catch((error: unknown) => error);
  const counted = readAll(methods.count({ text: '' }));
  await entered.promise;
  await server.stop();
  expect(await said).toEqual(UNAVAILABLE);
  await counted;
});

test('a connection that is cut in the middle of a call is UNAVAILABLE', async () => {
  const silent = createServer((socket) => {
    socket.on('error', () => undefined);
    // Enough of HTTP/2 for the caller to send its call: an empty SETTINGS frame.
    socket.write(Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]));
    setTimeout(() => socket.destroy(), 100);
  });
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  cleanUps.push(() => silent.close());
  const { port } = silent.address() as { port: number };
  await expect(connect(`127.0.0.1:${port}`, { deadlineMs: 2_000 }).methods.say({ text: '' })).rejects.toThrow(
    UNAVAILABLE,
  );
});

test('a call that takes too long is TIMEOUT, and one that finds nobody UNAVAILABLE', async () => {
  const { server } = await serve({ say: () => new Promise(() => undefined) });
  const started = performance.now();
  const late = expect.objectContaining({ code: 'TIMEOUT' });
  await expect(connect(server.address, { deadlineMs: 100 }).methods.say({ text: '' })).rejects.toThrow(late);
  await expect(connect('127.0.0.1:1', { deadlineMs: 100 }).methods.say({ text: '' })).rejects.toThrow(UNAVAILABLE);
  expect(performance.now() - started).toBeLessThan(2_000);
});

test('a server that was started again on its port is called at once', async () => {
  const first = await serve();
  const { methods } = connect(first.server.address);
  expect(await methods.say({ text: 'a' })).toEqual({ text: 'a!' });
  const port = Number(first.server.address.split(':').at(-1));
  await first.server.stop();
  const meanwhile = methods.say({ text: 'b' });
  await serve({}, { port });
  expect(await meanwhile).toEqual({ text: 'b!' });
  expect(await methods.say({ text: 'c' })).toEqual({ text: 'c!' });
});

test('a closed channel is UNAVAILABLE', async () => {
  const { server } = await serve();
  const { channel, methods } = connect(server.address);
  channel.close();
  await expect(methods.say({ text: '' })).rejects.toThrow(UNAVAILABLE);
  expect(() => methods.count({ text: '' })).toThrow(UNAVAILABLE);
});

test('a port that is taken is told; IPv6 addresses are written with brackets', async () => {
  const { server } = await serve();
  const port = Number(server.address.split(':').at(-1));
  await expect(serve({}, { port })).rejects.toThrow(/EADDRINUSE|bind/);
  const six = await serve({}, { host: '::1' });
  expect(six.server.address).toMatch(/^\[::1\]:\d+$/);
  expect(await connect(six.server.address).methods.say({ text: 'six' })).toEqual({ text: 'six!' });
});

test('both sides count calls by method and code, and the server times them', async () => {
  const { server, metrics } = await serve({ say: () => Promise.reject(new ApiError('NOT_FOUND')) });
  const caller = connect(server.address);
  await expect(caller.methods.say({ text: '' })).rejects.toMatchObject({ code: 'NOT_FOUND' });
  await readAll(caller.methods.count({ text: '' }));
  for (const [registry, name] of [
    [metrics.registry, 'grpc_server_handled_total'],
    [caller.metrics.registry, 'grpc_client_handled_total'],
  ] as const) {
    await vi.waitFor(async () => {
      const text = await registry.getSingleMetricAsString(name);
      expect(text).toContain(`${name}{method="${SampleService.say.path}",code="NOT_FOUND"} 1`);
      expect(text).toContain(`${name}{method="${SampleService.count.path}",code="OK"} 1`);
    });
  }
  const seconds = await metrics.registry.getSingleMetricAsString('grpc_server_handling_seconds');
  expect(seconds).toContain(`grpc_server_handling_seconds_count{method="${SampleService.say.path}"} 1`);
});
