import { once } from 'node:events';
import { constants, createServer as createHttp2Server, type ServerHttp2Stream } from 'node:http2';
import { createServer } from 'node:net';
import { afterEach, expect, test, vi } from 'vitest';
import { freePorts } from '#local/ports.ts';
import { startTcpProxy } from '#test/network/tcp-proxy.ts';
import { ApiError } from '../errors.ts';
import { SampleService } from '../fixtures/sample.ts';
import { cleanUp, cleanUps, connect, readAll, serve } from '../fixtures/sample-grpc.ts';

const UNAVAILABLE = expect.objectContaining({ code: 'UNAVAILABLE' });

afterEach(cleanUp);

test('a drain finishes the calls in flight, ends streams without an error, and accepts no new calls', async () => {
  const entered = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const failed = vi.fn<() => void>();
  const { server, metrics } = await serve({
    say: async ({ text }) => {
      entered.resolve();
      await release.promise;
      return { text };
    },
    // The aborted signal makes this throw an AbortError, as timers and events with a signal do.
    count: async (_request, stream) => {
      stream.write({ count: 1 });
      await once(new EventTarget(), 'never', { signal: stream.signal });
    },
  });
  const { methods } = connect(server.address);
  const saying = methods.say({ text: 'in flight' });
  const counting = readAll(methods.count({ text: '' }));
  await entered.promise;
  const drained = server.drain().then(() => failed());
  expect(await counting).toEqual({ counts: [1] });
  const late = connect(server.address, { deadlineMs: 100 });
  await expect(late.methods.say({ text: 'new' })).rejects.toThrow(UNAVAILABLE);
  expect(failed).not.toHaveBeenCalled();
  release.resolve();
  expect(await saying).toEqual({ text: 'in flight' });
  await drained;
  const handled = await metrics.registry.getSingleMetricAsString('grpc_server_handled_total');
  expect(handled).toContain(`{method="${SampleService.count.path}",code="OK"} 1`);
});

test('calls in flight on a server that stops fail with UNAVAILABLE', async () => {
  const entered = Promise.withResolvers<void>();
  const { server } = await serve({
    say: () => {
      entered.resolve();
      return new Promise(() => undefined);
    },
  });
  const { methods } = connect(server.address);
  const saying = methods.say({ text: '' }).catch((error: unknown) => error);
  const counting = readAll(methods.count({ text: '' }));
  await entered.promise;
  await server.stop();
  expect(await saying).toEqual(UNAVAILABLE);
  await counting;
});

test('a call whose connection is lost fails with UNAVAILABLE', async () => {
  const silent = createServer((socket) => {
    socket.on('error', () => undefined);
    // An empty HTTP/2 SETTINGS frame is enough for the client to send its call.
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

/** A client whose connection is cut during every call except 'steady', after this many successful calls. */
async function callsThatAreCut(steady: number, repeatable: readonly 'say'[]) {
  let calls = 0;
  const { server } = await serve({
    say: async ({ text }) => {
      calls++;
      if (text !== 'steady') network.cut();
      return { text };
    },
  });
  const network = await startTcpProxy(Number(server.address.split(':').at(-1)));
  cleanUps.push(() => network.close());
  const { methods, metrics } = connect(`127.0.0.1:${network.port}`, { repeatable });
  for (let call = 0; call < steady; call++) await methods.say({ text: 'steady' });
  const retries = async () => {
    const [counter] = (await metrics.registry.getSingleMetric('grpc_client_retries_total')?.get())?.values ?? [];
    return counter?.value ?? 0;
  };
  return { methods, retries, calls: () => calls - steady };
}

test('an idempotent call is retried once if its connection is lost', async () => {
  const { methods, retries, calls } = await callsThatAreCut(9, ['say']);
  await expect(methods.say({ text: 'cut' })).rejects.toThrow(UNAVAILABLE);
  expect([calls(), await retries()]).toEqual([2, 1]);
  // Ten calls allow one retry, so there is none for the next lost call.
  await expect(methods.say({ text: 'cut' })).rejects.toThrow(UNAVAILABLE);
  expect([calls(), await retries()]).toEqual([3, 1]);
});

test('a call that is not idempotent is not retried', async () => {
  const { methods, retries, calls } = await callsThatAreCut(20, []);
  await expect(methods.say({ text: 'cut' })).rejects.toThrow(UNAVAILABLE);
  expect([calls(), await retries()]).toEqual([1, 0]);
});

/** grpc-js itself sends a refused call once more. */
const SENT_BY_GRPC = 2;

test('a call that the server refuses without beginning it is sent once more, also if it is not idempotent', async () => {
  let calls = 0;
  const server = createHttp2Server();
  server.on('stream', (stream: ServerHttp2Stream) => {
    stream.on('error', () => undefined);
    if (++calls <= SENT_BY_GRPC) return stream.close(constants.NGHTTP2_REFUSED_STREAM);
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
    stream.once('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
    const message = SampleService.say.responseSerialize({ text: 'a response' });
    stream.end(Buffer.concat([Buffer.from([0, 0, 0, 0, message.length]), message]));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanUps.push(() => server.close());
  const { port } = server.address() as { port: number };
  const { methods, metrics } = connect(`127.0.0.1:${port}`);
  expect(await methods.say({ text: '' })).toEqual({ text: 'a response' });
  const counter = await metrics.registry.getSingleMetric('grpc_client_retries_total')?.get();
  expect([counter?.values[0]?.value, calls]).toEqual([1, SENT_BY_GRPC + 1]);
});

test('an error returned by the service is not retried', async () => {
  let calls = 0;
  const { server } = await serve({
    say: async ({ text }) => {
      calls++;
      if (text === 'down') throw new ApiError('UNAVAILABLE');
      return { text };
    },
  });
  const { methods } = connect(server.address, { repeatable: ['say'] });
  for (let call = 0; call < 20; call++) await methods.say({ text: '' });
  await expect(methods.say({ text: 'down' })).rejects.toThrow(UNAVAILABLE);
  expect(calls).toBe(21);
});

test('a call that takes too long fails with TIMEOUT, and one without a connection with UNAVAILABLE', async () => {
  const { server } = await serve({ say: () => new Promise(() => undefined) });
  const started = performance.now();
  const late = expect.objectContaining({ code: 'TIMEOUT' });
  await expect(connect(server.address, { deadlineMs: 100 }).methods.say({ text: '' })).rejects.toThrow(late);
  await expect(connect('127.0.0.1:1', { deadlineMs: 100 }).methods.say({ text: '' })).rejects.toThrow(UNAVAILABLE);
  expect(performance.now() - started).toBeLessThan(5_000);
});

test('a server that was restarted on its port is called immediately', async () => {
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

test('only the first call waits for an unreachable server; further calls fail immediately until it is back', async () => {
  const { server } = await serve();
  const port = Number(server.address.split(':').at(-1));
  const { methods } = connect(server.address, { connectMs: 300 });
  expect(await methods.say({ text: 'up' })).toEqual({ text: 'up!' });
  await server.stop();
  const took = async () => {
    const started = performance.now();
    await expect(methods.say({ text: '' })).rejects.toThrow(UNAVAILABLE);
    return performance.now() - started;
  };
  // The first call may still be sent over the connection that is being lost; then the second one is the first to wait.
  expect(Math.max(await took(), await took())).toBeGreaterThan(250);
  const others = await Promise.all(Array.from({ length: 20 }, took));
  expect(Math.max(...others)).toBeLessThan(250);
  await serve({}, { port });
  const saying = () => methods.say({ text: 'back' }).catch(() => undefined);
  await expect.poll(saying).toEqual({ text: 'back!' });
});

test('calls wait for a service that is starting, each for its own time, and do not open the circuit breaker', async () => {
  const [port = 0] = await freePorts(1);
  const { methods, metrics } = connect(`127.0.0.1:${port}`, { connectMs: 300 });
  const took = async () => {
    const started = performance.now();
    await expect(methods.say({ text: '' })).rejects.toThrow(UNAVAILABLE);
    return performance.now() - started;
  };
  expect(await took()).toBeGreaterThan(250);
  const others = await Promise.all(Array.from({ length: 20 }, took));
  expect(Math.min(...others)).toBeGreaterThan(250);
  expect(await metrics.registry.getSingleMetricAsString('breaker_open')).toContain(
    'breaker_open{dependency="sample"} 0',
  );
  await serve({}, { port });
  await expect.poll(() => methods.say({ text: 'first' }).catch(() => undefined)).toEqual({ text: 'first!' });
});

test('a call on a closed channel fails with UNAVAILABLE', async () => {
  const { server } = await serve();
  const { channel, methods } = connect(server.address);
  channel.close();
  await expect(methods.say({ text: '' })).rejects.toThrow(UNAVAILABLE);
  expect(() => methods.count({ text: '' })).toThrow(UNAVAILABLE);
});
