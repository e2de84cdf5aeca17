import { once } from 'node:events';
import { Client, credentials, type ServiceError, status } from '@grpc/grpc-js';
import { afterEach, expect, onTestFinished, test, vi } from 'vitest';
import { HealthService } from '#proto/gen/grpc/health/v1/health.ts';
import { PATIENCE } from '#test/patience.ts';
import { ManualClock } from '../clock.ts';
import { currentPurpose, requestContext, withPurpose } from '../context.ts';
import { ApiError } from '../errors.ts';
import { SampleService } from '../fixtures/sample.ts';
import {
  bare,
  type Caller,
  cleanUp,
  connect,
  HANDLERS,
  type Handlers,
  OTHER,
  readAll,
  serve,
} from '../fixtures/sample-grpc.ts';

const INTERNAL = expect.objectContaining({ code: 'INTERNAL' });

afterEach(cleanUp);

test.each(['caller', 'background', 'job'] as const)('the purpose %s is passed on with a call', async (purpose) => {
  const { server } = await serve({ say: async () => ({ text: currentPurpose() }) });
  const { methods } = connect(server.address);
  expect(await withPurpose(purpose, () => methods.say({ text: 'x' }))).toEqual({ text: purpose });
});

test('a call gets its response, and the request ID is passed on', async () => {
  const say = async () => ({ text: String(requestContext.getStore()?.requestId) });
  const { server } = await serve({ say });
  const { methods } = connect(server.address);
  const call = () => methods.say({ text: 'a' });
  expect(await requestContext.run({ requestId: 'request-1', route: 'x' }, call)).toEqual({ text: 'request-1' });
  expect((await call()).text).toMatch(/^[0-9a-f-]{36}$/);
});

test('the caller gets an error as it was thrown, even with hundreds of validation errors', async () => {
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
  ['rejects with a value that is not an Error', () => Promise.reject('hidden')],
  ['returns a response that cannot be serialized', () => Promise.resolve(undefined as unknown)],
  [
    'throws an error that cannot be serialized',
    () => Promise.reject(new ApiError('NOT_FOUND', { details: { number: 1n } })),
  ],
])('a handler that %s gives INTERNAL without its message, and the server continues', async (_how, say) => {
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
])('a call with a token of %s is rejected, unary and stream, and is INTERNAL for the caller', async (_what, caller) => {
  const say = vi.fn<Handlers['say']>(HANDLERS.say);
  const { server, metrics } = await serve({ say });
  const { methods } = connect(server.address, caller);
  await expect(methods.say({ text: '' })).rejects.toThrow(INTERNAL);
  expect(await readAll(methods.count({ text: '' }))).toEqual({ counts: [], error: INTERNAL });
  expect(say).not.toHaveBeenCalled();
  const handled = await metrics.registry.getSingleMetricAsString('grpc_server_handled_total');
  expect(handled).toContain(`{method="${SampleService.say.path}",code="UNAUTHENTICATED"} 1`);
});

test('a call without a token is UNAUTHENTICATED, and its message is not parsed', async () => {
  const { server } = await serve();
  const unauthenticated = expect.objectContaining({ code: status.UNAUTHENTICATED });
  for (const { path } of Object.values(SampleService)) {
    for (const message of ['{}', 'no message at all']) {
      await expect(bare(server.address, path, Buffer.from(message))).rejects.toThrow(unauthenticated);
    }
  }
});

test('health checks need no token and report readiness', async () => {
  const { server, readiness } = await serve();
  const check = () => bare(server.address, '/grpc.health.v1.Health/Check');
  const [serving, notServing] = [Buffer.from([8, 1]), Buffer.from([8, 2])];
  expect(await check()).toEqual(notServing);
  readiness.set(true);
  expect(await check()).toEqual(serving);
  readiness.set(false);
  expect(await check()).toEqual(notServing);
});

test.each(['', 'unknown'])('a watcher of the health of "%s" does not hold up a stop', async (service) => {
  const { server } = await serve();
  const client = new Client(server.address, credentials.createInsecure());
  onTestFinished(() => client.close());
  const { path, requestSerialize, responseDeserialize } = HealthService.watch;
  const watch = client.makeServerStreamRequest(path, requestSerialize, responseDeserialize, { service });
  const ended = once(watch, 'end');
  await once(watch, 'data');
  const started = performance.now();
  await server.drain();
  await ended;
  expect(performance.now() - started).toBeLessThan(5_000);
});

test.each([true, false])('reflection is served as configured: %s', async (reflection) => {
  const { server } = await serve({}, { reflection });
  const listServices = Buffer.from([0x3a, 0]);
  const call = bare(server.address, '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo', listServices);
  const response = await call.catch((error: ServiceError) => status[error.code]);
  expect(response === 'UNIMPLEMENTED').toBe(!reflection);
  // Services of other processes are not listed.
  expect(response?.toString()).not.toContain('guild.auth.v1.AuthService');
});

test("a stream delivers its messages and ends with its handler, or with the handler's error", async () => {
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
])('a caller that disconnects aborts its stream; a handler that then writes and %s does no harm', async (_how, end) => {
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

test('a port in use is an error; IPv6 addresses are written in brackets', async () => {
  const { server } = await serve();
  const port = Number(server.address.split(':').at(-1));
  await expect(serve({}, { port })).rejects.toThrow(/EADDRINUSE|bind/);
  const six = await serve({}, { host: '::1' });
  expect(six.server.address).toMatch(/^\[::1\]:\d+$/);
  expect(await connect(six.server.address).methods.say({ text: 'six' })).toEqual({ text: 'six!' });
});

test('client and server count calls by method and code, and the server measures their duration', async () => {
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
    }, PATIENCE);
  }
  const seconds = await metrics.registry.getSingleMetricAsString('grpc_server_handling_seconds');
  expect(seconds).toContain(`grpc_server_handling_seconds_count{method="${SampleService.say.path}"} 1`);
});
