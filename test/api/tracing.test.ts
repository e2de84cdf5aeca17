import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OtlpReceiver, type ReceivedSpan } from '../network/otlp/receiver.ts';
import { GUILD, type Network, OTHER_GUILD, startNetwork } from '../system/system.ts';

const ADA = '920000000000000001';
const CALLER = 'ca11e4ca11e4ca11';
const TOKEN = 'collector-token-of-the-test';

const receiver = new OtlpReceiver();
const logLines: string[] = [];
let network: Network;
let key: string;
let traces = 0;

/** The trace headers of a client that samples its trace. */
function newTrace(flags = '01') {
  const traceId = `${String(++traces).padStart(8, '0')}5eed5eed5eed5eed5eed5eed`;
  return { traceId, headers: { traceparent: `00-${traceId}-${CALLER}-${flags}` } };
}

beforeAll(async () => {
  await receiver.start();
  const environment = {
    OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url,
    OTEL_EXPORTER_OTLP_HEADERS: `authorization=Bearer%20${TOKEN}`,
    OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
    TRACING_SAMPLE_RATIO: '1',
    OTEL_BSP_SCHEDULE_DELAY: '100',
  };
  network = await startNetwork({ environment, logLines });
  key = (await network.createKey()).secret;
});
afterAll(async () => {
  await network.stop();
  await receiver.stop();
});

/**
 * Waits until the collector has the server's span of each of these processes: it ends last, and a process sends its spans
 * in the order in which they end.
 */
async function receivedFrom(traceId: string, services: readonly string[]): Promise<ReceivedSpan[]> {
  const servers = () => receiver.trace(traceId).filter(({ kind }) => kind === 'SPAN_KIND_SERVER');
  await expect
    .poll(() => [...new Set(servers().map(({ service }) => service))])
    .toEqual(expect.arrayContaining([...services]));
  return receiver.trace(traceId);
}

const outline = ({ service, kind, name }: ReceivedSpan) =>
  `${service} ${kind.slice('SPAN_KIND_'.length).toLowerCase()} ${name}`;

describe('the trace of one request', () => {
  it('has every hop: gateway, Redis, service, gRPC, SQL and platform', async () => {
    const { traceId, headers } = newTrace();
    const response = await network.call(`/guilds/${GUILD}/members/${ADA}`, { key, headers });
    expect(response.status).toBe(200);
    const spans = await receivedFrom(traceId, ['gateway', 'auth', 'members', 'lookup']);
    const byId = new Map(spans.map((span) => [span.spanId, span]));
    const found = spans.map((span) => {
      const parent = byId.get(span.parentSpanId);
      return `${parent ? outline(parent) : span.parentSpanId} > ${outline(span)}`;
    });
    const root = 'gateway server GET /api/v1/guilds/:guildId/members/:chatId';
    const member = 'members server GET /api/v1/guilds/:guildId/members/:chatId';
    expect(found).toEqual(
      expect.arrayContaining([
        `${CALLER} > ${root}`,
        `${root} > gateway client guild.auth.v1.AuthService/Verify`,
        'gateway client guild.auth.v1.AuthService/Verify > auth server guild.auth.v1.AuthService/Verify',
        expect.stringMatching(/^auth server \S+\/Verify > auth client SELECT auth\.\w+$/),
        `${root} > gateway client EVALSHA rate limits`,
        `${root} > gateway client GET members`,
        `gateway client GET members > ${member}`,
        `${member} > members client EVALSHA acquire`,
        `${member} > members client GET chat`,
        expect.stringMatching(/^members server GET \S+ > members client guild\.lookup\.v1\.\w+\/\w+$/),
        expect.stringMatching(/^members client (\S+) > lookup server \1$/),
        expect.stringMatching(/^lookup server \S+ > lookup client SELECT lookup\.\w+$/),
      ]),
    );
    for (const { startedAt, endedAt, hasFailed } of spans) {
      expect(endedAt).toBeGreaterThanOrEqual(startedAt);
      expect(hasFailed).toBe(false);
    }
    const first = spans.find(({ name, service }) => service === 'gateway' && name.startsWith('GET /api'));
    expect(first?.attributes).toEqual({
      'http.request.method': 'GET',
      'http.response.status_code': '200',
      'http.route': '/api/v1/guilds/:guildId/members/:chatId',
      'guild_data.route': 'getMember',
      'guild_data.request_id': response.headers.get('x-request-id'),
    });
    expect(first?.resource).toMatchObject({ 'service.name': 'gateway', 'deployment.environment.name': 'test' });
  });

  it('shows which forwarded request failed, and with which status', async () => {
    // The bot is no member of this guild, so members responds with 502.
    const { secret } = await network.createKey({ guildId: OTHER_GUILD });
    const { traceId, headers } = newTrace();
    const response = await network.call(`/guilds/${OTHER_GUILD}/members`, { key: secret, headers });
    expect(response.status).toBe(502);
    const forwarded = () => receiver.trace(traceId).find(({ name }) => name === 'GET members');
    await expect.poll(forwarded).toBeDefined();
    expect(forwarded()).toMatchObject({
      hasFailed: true,
      attributes: { 'http.response.status_code': '502', 'error.type': '502' },
    });
  });

  it('is sent with the configured headers, and has no key, user or token', async () => {
    const { traceId, headers } = newTrace();
    const named = { ...headers, 'x-request-id': key, tracestate: `vendor=${key}` };
    await network.call(`/lookup/chat/${ADA}?q=${key}`, { key, headers: named });
    await receivedFrom(traceId, ['gateway']);
    expect(receiver.headers['authorization']).toBe(`Bearer ${TOKEN}`);
    const sent = Buffer.concat(receiver.bodies).toString('latin1');
    expect(sent).toContain('/api/v1/lookup/chat/:chatId');
    for (const secret of [key, ADA, TOKEN, 'test-bot-token']) expect(sent).not.toContain(secret);
  });
});

describe('a trace', () => {
  it('is started by a request of a client only, and not by a poll, a queue or an operator', async () => {
    const others = () => receiver.spans.filter(({ service, parentSpanId }) => !parentSpanId && service !== 'gateway');
    const polled = async () => {
      const metrics = await fetch(`http://${network.address('events', 'admin')}/metrics`);
      return metrics.text();
    };
    await expect.poll(polled).toMatch(/grpc_server_handling_seconds_count\{[^}]*TakeEntries[^}]*\} [1-9]/);
    const { traceId, headers } = newTrace();
    expect((await network.call('/webhooks', { key, headers: { ...headers, 'x-guild-id': GUILD } })).status).toBe(200);
    // A process sends its spans in order, so those of earlier polls have arrived too.
    await receivedFrom(traceId, ['gateway', 'events']);
    expect(others()).toEqual([]);
  });
});

describe('log lines', () => {
  it('have the trace ID beside the request ID, in every process', async () => {
    const { traceId, headers } = newTrace();
    const response = await network.call(`/guilds/${GUILD}/members/${ADA}`, { key, headers });
    const requestId = response.headers.get('x-request-id');
    const lines = logLines.map((line) => JSON.parse(line)).filter((line) => line.request_id === requestId);
    expect(lines).toContainEqual(expect.objectContaining({ service: 'gateway', msg: 'request completed', code: 200 }));
    for (const line of lines) expect(line.trace_id).toBe(traceId);
  });
});

describe('the duration of requests', () => {
  const scrape = async (name: string, accept: string) => {
    const response = await fetch(`http://${network.address(name, 'admin')}/metrics`, { headers: { accept } });
    return { type: response.headers.get('content-type'), text: await response.text() };
  };

  it('names a trace as exemplar, for a scraper that accepts OpenMetrics', async () => {
    const { traceId, headers } = newTrace();
    await network.call(`/guilds/${GUILD}/members/${ADA}`, { key, headers });
    for (const [name, metric] of [
      ['gateway', 'http_request_duration_seconds'],
      ['members', 'http_request_duration_seconds'],
      ['lookup', 'grpc_server_handling_seconds'],
    ] as const) {
      const { type, text } = await scrape(name, 'application/openmetrics-text;version=1.0.0,text/plain;q=0.5');
      expect(type).toBe('application/openmetrics-text; version=1.0.0; charset=utf-8');
      expect(text).toMatch(new RegExp(`^${metric}_bucket\\{.*\\} \\d+ # \\{trace_id="${traceId}"\\} `, 'm'));
      const classic = await scrape(name, 'text/plain');
      expect(classic.type).toBe('text/plain; version=0.0.4; charset=utf-8');
      expect(classic.text).not.toContain('trace_id');
    }
  });
});

describe('a gateway that samples no request', () => {
  const settings = { TRACING_SAMPLE_RATIO: '0', TRACING_CALLER_SAMPLES_PER_SECOND: '0' };

  it('exports only the first span of a failed request, and nothing of others', async () => {
    const gateway = await network.startOne('gateway', settings);
    const [good, failed] = [newTrace(), newTrace()];
    expect((await network.call('/lookup/chat/1', { key, headers: good.headers })).status).toBeLessThan(500);
    await network.services.get('moderation')?.stop();
    const path = `/moderation/${GUILD}/logs`;
    expect((await network.call(path, { key, headers: failed.headers })).status).toBe(503);
    // A stop sends all spans that wait.
    await gateway.stop();
    expect(receiver.trace(good.traceId)).toEqual([]);
    expect(receiver.trace(failed.traceId)).toMatchObject([
      { service: 'gateway', parentSpanId: CALLER, kind: 'SPAN_KIND_SERVER', hasFailed: true },
    ]);
    expect(receiver.trace(failed.traceId)[0]?.attributes).toMatchObject({ 'error.type': 'UNAVAILABLE' });
  });

  it('leaves the same trace ID in the log lines of every process: the request ID without hyphens', async () => {
    const gateway = await network.startOne('gateway', settings);
    // The bot is no member of this guild, so members responds with 502 and logs why.
    const { secret } = await network.createKey({ guildId: OTHER_GUILD });
    const response = await network.call(`/guilds/${OTHER_GUILD}/members`, { key: secret });
    await gateway.stop();
    const requestId = response.headers.get('x-request-id');
    const lines = logLines.map((line) => JSON.parse(line)).filter((line) => line.request_id === requestId);
    expect(new Set(lines.map(({ service }) => service))).toEqual(new Set(['gateway', 'members']));
    for (const line of lines) expect(line.trace_id).toBe(requestId?.replaceAll('-', ''));
  });

  it('samples only as many traces of clients as are allowed', async () => {
    const gateway = await network.startOne('gateway', { ...settings, TRACING_CALLER_SAMPLES_PER_SECOND: '1' });
    const started = performance.now();
    const requests = Array.from({ length: 30 }, () => newTrace());
    await Promise.all(requests.map(({ headers }) => network.call('/lookup/chat/1', { key, headers })));
    const seconds = (performance.now() - started) / 1000;
    await gateway.stop();
    const sampled = requests.filter(({ traceId }) =>
      receiver.trace(traceId).some(({ service }) => service === 'gateway'),
    );
    expect(sampled.length).toBeGreaterThanOrEqual(1);
    expect(sampled.length).toBeLessThanOrEqual(1 + seconds);
  });
});

describe('while the collector is down', () => {
  it('requests succeed, and spans are dropped and counted', async () => {
    const down = new OtlpReceiver();
    await down.start();
    const { url } = down;
    await down.stop();
    await network.startOne('gateway', { OTEL_EXPORTER_OTLP_ENDPOINT: url });
    for (let request = 0; request < 5; request++) {
      expect((await network.call(`/guilds/${GUILD}/members/${ADA}`, { key })).status).toBe(200);
    }
    const metrics = async () => (await fetch(`http://${network.address('gateway', 'admin')}/metrics`)).text();
    await expect.poll(metrics).toMatch(/tracing_spans_total\{result="export_failed"\} [1-9]/);
    expect(logLines.join('')).toContain('traces cannot be exported');
  });
});
