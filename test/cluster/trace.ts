import { setTimeout as pause } from 'node:timers/promises';
import { type ReceivedSpan, spansIn } from '../network/otlp/receiver.ts';
import { ADA, GUILD } from './calls.ts';
import type { Namespace } from './kubectl.ts';
import type { Images } from './lab.ts';
import { makeKeys } from './load.ts';
import { startProgram } from './program-pod.ts';

const PORT = 4318;
const CALLER = 'ca11e4ca11e4ca11';
const ROUTE = 'GET /api/v1/guilds/:guildId/members/:chatId';
/** Processes send spans in batches. */
const RECEIVED_MS = 30_000;

/** The chart's values with which every request is traced. */
export const TRACED = [`tracing.endpoint=http://collector:${PORT}`, 'tracing.sampleRatio=1'];

/** The spans of one request, each behind the one that caused it. */
const HOPS: readonly RegExp[] = [
  new RegExp(`^${CALLER} > gateway server ${ROUTE}$`),
  /^gateway server .+ > gateway client EVALSHA rate limits$/,
  /^gateway server .+ > gateway client guild\.auth\.v1\.AuthService\/Verify$/,
  /^gateway client .+\/Verify > auth server guild\.auth\.v1\.AuthService\/Verify$/,
  /^auth server .+\/Verify > auth client SELECT auth\.\w+$/,
  /^gateway server .+ > gateway client GET members$/,
  new RegExp(`^gateway client GET members > members server ${ROUTE}$`),
  /^members server .+ > members client EVALSHA acquire$/,
  /^members server .+ > members client GET chat$/,
  /^members server .+ > members client guild\.lookup\.v1\.\w+\/\w+$/,
  /^members client (\S+) > lookup server \1$/,
  /^lookup server .+ > lookup client SELECT lookup\.\w+$/,
];

/** A collector of traces in a pod, to which the processes of the release export. */
export async function startCollector(namespace: Namespace, images: Images): Promise<void> {
  await startProgram(namespace, { name: 'collector', images, port: PORT, cpu: '25m' });
  const spec = { selector: { app: 'collector' }, ports: [{ port: PORT }] };
  await namespace.apply({ apiVersion: 'v1', kind: 'Service', metadata: { name: 'collector' }, spec });
}

/** Sends one request and returns the hops of which the collector received no span. */
export async function missingHops(namespace: Namespace, gateway: string): Promise<string[]> {
  const traceId = crypto.randomUUID().replaceAll('-', '');
  const [{ key } = { key: '' }] = await makeKeys(namespace, [GUILD]);
  const { url, close } = await namespace.forward(`service/${gateway}`, 80);
  try {
    const headers = { 'x-api-key': key, traceparent: `00-${traceId}-${CALLER}-01` };
    const response = await fetch(`${url}/api/v1/guilds/${GUILD}/members/${ADA.chat_id}`, { headers });
    if (response.status !== 200) return [`the request: ${response.status} ${await response.text()}`];
  } finally {
    close();
  }
  let missing: string[] = ['all'];
  for (const late = Date.now() + RECEIVED_MS; missing.length > 0 && Date.now() < late; await pause(1_000)) {
    const found = outlines(await receivedSpans(namespace, traceId));
    missing = HOPS.filter((hop) => !found.some((each) => hop.test(each))).map((hop) => `no span ${hop.source}`);
  }
  return missing;
}

async function receivedSpans(namespace: Namespace, traceId: string): Promise<ReceivedSpan[]> {
  const code = `process.stdout.write(await (await fetch('http://127.0.0.1:${PORT}/bodies')).text())`;
  const bodies = JSON.parse(await namespace.node('collector', code)) as string[];
  return bodies.flatMap((body) => spansIn(Buffer.from(body, 'base64'))).filter((span) => span.traceId === traceId);
}

/** Each span as `parent > span`. */
function outlines(spans: readonly ReceivedSpan[]): string[] {
  const outline = ({ service, kind, name }: ReceivedSpan) =>
    `${service} ${kind.slice('SPAN_KIND_'.length).toLowerCase()} ${name}`;
  const byId = new Map(spans.map((span) => [span.spanId, outline(span)]));
  return spans.map((span) => `${byId.get(span.parentSpanId) ?? span.parentSpanId} > ${outline(span)}`);
}

export const HOP_COUNT = HOPS.length;
