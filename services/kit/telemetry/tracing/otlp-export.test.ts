import { performance } from 'node:perf_hooks';
import { pino } from 'pino';
import { afterEach, expect, test } from 'vitest';
import { OtlpReceiver } from '#test/network/otlp/receiver.ts';
import { requestContext } from '../../context.ts';
import { ConfigError } from '../../service/config.ts';
import { Metrics } from '../metrics.ts';
import { Tracer } from './tracer.ts';

const cleanUps: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const step of cleanUps.splice(0).toReversed()) await step();
});

async function start() {
  const receiver = new OtlpReceiver();
  await receiver.start();
  cleanUps.push(() => receiver.stop());
  const metrics = new Metrics();
  const lines: { msg: string; route?: string }[] = [];
  const mixin = () => ({ route: requestContext.getStore()?.route });
  const log = pino({ mixin }, { write: (line) => void lines.push(JSON.parse(line)) });
  const config = {
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_EXPORTER_OTLP_HEADERS: {},
    OTEL_RESOURCE_ATTRIBUTES: {},
    TRACING_SAMPLE_RATIO: 1,
    TRACING_CALLER_SAMPLES_PER_SECOND: 0,
    OTEL_BSP_SCHEDULE_DELAY: 100,
  };
  const tracer = new Tracer(config, { service: 'sample', metrics, log });
  await tracer.start();
  const send = (count: number) => {
    for (let span = 0; span < count; span++) {
      tracer.ofClient('request', undefined, undefined).end(undefined, () => ({ name: 'GET', attributes: {} }));
    }
  };
  const counted = async (result: string) => {
    const [, count] = new RegExp(`tracing_spans_total\\{result="${result}"\\} (\\d+)`).exec(await metrics.text()) ?? [];
    return Number(count);
  };
  const messages = () => lines.map(({ msg }) => msg);
  return { receiver, tracer, send, counted, lines, messages };
}

test('a file without a certificate is a configuration error that names the variable', async () => {
  const config = {
    OTEL_EXPORTER_OTLP_ENDPOINT: 'https://collector.invalid',
    OTEL_EXPORTER_OTLP_HEADERS: {},
    OTEL_EXPORTER_OTLP_CERTIFICATE: import.meta.filename,
    OTEL_RESOURCE_ATTRIBUTES: {},
    TRACING_SAMPLE_RATIO: 1,
    TRACING_CALLER_SAMPLES_PER_SECOND: 0,
    OTEL_BSP_SCHEDULE_DELAY: 100,
  };
  const options = { service: 'sample', metrics: new Metrics(), log: pino({ level: 'silent' }) };
  const error = await new Tracer(config, options).start().catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ConfigError);
  expect((error as Error).message).toContain('OTEL_EXPORTER_OTLP_CERTIFICATE cannot be used');
});

test('a stop sends all spans that wait', async () => {
  const { receiver, tracer, send, counted } = await start();
  send(1_500);
  await tracer.stop();
  expect(receiver.spans).toHaveLength(1_500);
  expect(await counted('exported')).toBe(1_500);
});

test('spans that the collector rejects are dropped and counted, until it accepts them again', async () => {
  const { receiver, send, counted, messages } = await start();
  receiver.status = 400;
  send(3);
  await expect.poll(() => counted('export_failed')).toBe(3);
  send(2);
  await expect.poll(() => counted('export_failed')).toBe(5);
  expect(messages()).toEqual(['traces cannot be exported, spans are dropped until they can']);
  receiver.status = 200;
  send(1);
  await expect.poll(() => counted('exported')).toBe(1);
  expect(messages()[1]).toBe('traces are exported again');
  expect(receiver.spans).toHaveLength(1);
});

test('the lines about the collector do not name the request whose span was sent first', async () => {
  const { receiver, send, lines } = await start();
  receiver.status = 400;
  requestContext.run({ requestId: 'request', route: 'getMember' }, () => send(1));
  await expect.poll(() => lines).toHaveLength(1);
  expect(lines[0]?.route).toBeUndefined();
});

test('while the collector does not respond, only so many spans wait; a stop does not wait for it', async () => {
  const { receiver, tracer, send, counted, messages } = await start();
  receiver.status = null;
  send(5_000);
  expect(await counted('queue_full')).toBe(5_000 - 4_096);
  const started = performance.now();
  await tracer.stop();
  // A request to the collector would end after 5 s.
  expect(performance.now() - started).toBeLessThan(4_500);
  expect(messages()).toContain('the last spans could not be sent to the collector in time, they are lost');
});
