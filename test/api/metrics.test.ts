import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { DEFAULT_ERRORS, errorsOf } from '#gateway/openapi/errors.ts';
import { ERRORS } from '#kit/errors.ts';
import { LIMIT_CATEGORIES } from '#kit/limits/limiter.ts';
import { startService } from '#kit/service/service.ts';
import { ROUTES } from '#proto/rest/index.ts';
import type { Route } from '#proto/rest/route.ts';
import { lookupService } from '#services/lookup/service.ts';
import { ALL_RULES, EXPRESSIONS, OF_OTHER_SERVERS } from '../contract/monitoring.ts';
import { type Series, scrapeSeries } from '../measure/exposition.ts';
import { printFigure } from '../measure/figures.ts';
import { isMatch, type Matcher, readExpression, type Selector } from '../measure/promql.ts';
import { Authority, writeTlsFiles } from '../network/certificates.ts';
import { openSocket, wire } from '../network/raw-http.ts';
import { exercise } from '../system/exercise.ts';
import { OPTIONAL_PARTS } from '../system/optional-parts.ts';
import { testEnvironment } from '../system/signed-calls.ts';
import { type Network, startNetwork } from '../system/system.ts';

/** The labels that Prometheus adds (deploy/prometheus/README.md). */
const TARGET_LABELS = ['cluster', 'namespace', 'release', 'job', 'instance'];
/** The labels that Prometheus adds to its own series of alerts. */
const ALERT_LABELS = ['alertname', 'alertstate'];
/** Series that Prometheus creates itself. */
const OF_PROMETHEUS = ['up', 'ALERTS'];
/** Labels with a fixed set of values. An expression with another value is probably a typing error. */
const FIXED_VALUES = ['le', 'state', 'channel'];
/** Labels that scraping in a cluster adds. Prometheus would rename our own labels with these names. */
const TAKEN = [...TARGET_LABELS, 'service', 'pod', 'container', 'endpoint', 'node'];
/** Label names that suggest a key, a person, an address or other client input. */
const FORBIDDEN = /(?:^|_)(?:key|guild|user|chat_id|game_id|id|name|address|ip|path|url|server|token|code_text)(?:$|_)/;
const MAX_SERIES = 3_000;

let network: Network;
let key: { id: string; secret: string };
const seriesOf = new Map<string, Series[]>();
/** The series of each process before its first request. */
const firstSeriesOf = new Map<string, Series[]>();

beforeAll(async () => {
  network = await startNetwork({ console: true, environment: OPTIONAL_PARTS });
  for (const name of network.services.keys()) {
    firstSeriesOf.set(name, await scrapeSeries(network.address(name, 'admin')));
  }
  key = await network.createKey();
  await exercise(network, key.secret);
  for (const name of network.services.keys()) seriesOf.set(name, await scrapeSeries(network.address(name, 'admin')));
  seriesOf.get('lookup')?.push(...(await certificateSeries()));
});
afterAll(() => network.stop());

/** The certificate metrics of a replica with TLS. The other processes run without TLS. */
async function certificateSeries(): Promise<Series[]> {
  const folder = mkdtempSync(join(tmpdir(), 'guild-tls-'));
  const authority = new Authority('ours');
  const files = writeTlsFiles(folder, authority.issue(), authority.cert);
  const environment = { ...testEnvironment(network.databaseUrl), ...files };
  const lookup = await startService(lookupService, environment);
  const series = await scrapeSeries(lookup.addresses.admin);
  await lookup.stop();
  rmSync(folder, { recursive: true });
  return series.filter(({ name }) => name.startsWith('tls_'));
}

/** The series of all processes that the selector's `job` matches, without series of Prometheus itself. */
function seriesFor(metric: string, matchers: readonly Matcher[]): Series[] {
  const jobs = matchers.filter(({ label }) => label === 'job');
  return [...seriesOf]
    .filter(([service]) => jobs.every((matcher) => isMatch(matcher, `guild-data/${service}`)))
    .flatMap(([, series]) => series.filter(({ name }) => name === metric));
}

const recorded = new Set(ALL_RULES.map(({ record }) => record));

/** The parts of a selector that no process exports: the metric, its labels, or fixed label values. */
function missingParts({ metric, matchers }: Selector): string[] {
  if (recorded.has(metric) || [...OF_PROMETHEUS, ...OF_OTHER_SERVERS].includes(metric)) return [];
  const series = seriesFor(metric, matchers);
  if (series.length === 0) return [metric];
  const own = matchers.filter(({ label }) => !TARGET_LABELS.includes(label));
  const missing = own.filter((matcher) => {
    const values = series.map(({ labels }) => labels[matcher.label]).filter((value) => value !== undefined);
    const isShown = (value: string) => !FIXED_VALUES.includes(matcher.label) || isMatch(matcher, value);
    return !values.some(isShown);
  });
  return missing.map(({ label, operator, value }) => `${metric}{${label}${operator}"${value}"}`);
}

test.each(EXPRESSIONS)('$where uses only metrics and labels that the system exports', ({ expr }) => {
  const { selectors, grouping } = readExpression(expr);
  expect(selectors.flatMap(missingParts)).toEqual([]);
  const series = selectors.flatMap(({ metric, matchers }) => seriesFor(metric, matchers));
  const known = new Set([...TARGET_LABELS, ...ALERT_LABELS, ...series.flatMap(({ labels }) => Object.keys(labels))]);
  expect(grouping.filter((label) => !known.has(label))).toEqual([]);
});

/** The counters that alerts read; a histogram has counters too. */
const COUNTER = /_(?:total|count|bucket)$/;
const countersOfAlerts = ALL_RULES.flatMap(({ alert, record, expr }) =>
  readExpression(expr)
    .selectors.filter(({ metric }) => COUNTER.test(metric))
    .map((selector) => ({ rule: alert ?? record, ...selector })),
);

test.each(countersOfAlerts)('$rule sees the first increase of $metric: its series exist from the start', (selector) => {
  const found = [...firstSeriesOf]
    .filter(([service]) =>
      selector.matchers
        .filter(({ label }) => label === 'job')
        .every((matcher) => isMatch(matcher, `guild-data/${service}`)),
    )
    .flatMap(([service, series]) => series.map((one) => ({ service, ...one })))
    .filter(({ name, labels }) => name === selector.metric && isSelected(labels, selector.matchers));
  expect(found).not.toEqual([]);
});

/** True if the labels of a series, without those that Prometheus adds, match a selector. */
function isSelected(labels: Readonly<Record<string, string>>, matchers: readonly Matcher[]): boolean {
  const own = matchers.filter(({ label }) => !TARGET_LABELS.includes(label));
  return own.every((matcher) => isMatch(matcher, labels[matcher.label] ?? ''));
}

test('no server error, and no internal call without a valid signature, creates a series of its own', () => {
  const first = new Set([...firstSeriesOf].flatMap(([service, series]) => series.map((one) => idOf(service, one))));
  const burst = [...seriesOf].flatMap(([service, series]) =>
    series
      .filter(({ name, labels }) => {
        const isHttp = name === 'http_requests_total' && labels['route'] !== 'none';
        const isFault = isHttp && labels['code']?.startsWith('5') === true;
        const isCall = name === 'grpc_server_handled_total';
        return isFault || (isCall && ['INTERNAL', 'UNAUTHENTICATED'].includes(labels['code'] ?? ''));
      })
      .map((one) => idOf(service, one)),
  );
  expect(burst.length).toBeGreaterThan(100);
  expect(burst.filter((id) => !first.has(id))).toEqual([]);
});

const idOf = (service: string, { name, labels }: Series) =>
  `${service} ${name} ${Object.entries(labels).map(String).toSorted().join(' ')}`;

test('the first requests that a rate limit rejects are an increase, because their series exist before', () => {
  const first = firstSeriesOf.get('gateway') ?? [];
  const has = (name: string, wanted: Record<string, string>) =>
    first.some(
      ({ name: own, labels }) => own === name && Object.entries(wanted).every(([key, value]) => labels[key] === value),
    );
  for (const { name: route } of ROUTES)
    expect([route, has('http_requests_total', { route, code: '429' })]).toEqual([route, true]);
  for (const category of LIMIT_CATEGORIES) {
    const wanted = { category, decision: 'rejected', mode: 'exact' };
    expect([category, has('gateway_limit_decisions_total', wanted)]).toEqual([category, true]);
  }
});

test('every expression selects services, because several services have metrics with the same name', () => {
  const all = EXPRESSIONS.flatMap(({ where, expr }) =>
    readExpression(expr).selectors.map((selector) => ({ where, ...selector })),
  );
  const open = all.filter(({ metric, matchers }) => {
    return !recorded.has(metric) && metric !== 'ALERTS' && !matchers.some(({ label }) => label === 'job');
  });
  expect(open).toEqual([]);
});

/** The statuses that a route can return. Other errors occur before the route of a request is known. */
function statusesOf(route: Route): Set<number> {
  const general = [...DEFAULT_ERRORS, 'REQUEST_TIMEOUT'] as const;
  return new Set([200, route.status, ...errorsOf(route).keys(), ...general.map((code) => ERRORS[code].http)]);
}

test('no process can export more than 3,000 series', () => {
  for (const [service, series] of seriesOf) {
    const own = ROUTES.filter((route) => service === 'gateway' || route.service === service);
    const names = new Set(own.map(({ name }) => name));
    const counted = series.filter(
      ({ name, labels }) => name === 'http_requests_total' && names.has(labels['route'] ?? ''),
    );
    // In the worst case every route returns every status that it can return.
    const possible = new Set([
      ...counted.map(({ labels }) => `${labels['route']} ${labels['method']} ${labels['code']}`),
      ...own.flatMap((route) => [...statusesOf(route)].map((status) => `${route.name} ${route.method} ${status}`)),
    ]);
    const most = series.length - counted.length + possible.size;
    printFigure(`series of ${service}`, `${series.length}, ${most} at most`);
    expect(most).toBeLessThanOrEqual(MAX_SERIES);
  }
});

test('no label contains a key, guild, person, address or other input, or has the name of a Prometheus label', () => {
  const all = [...seriesOf.values()].flat();
  const names = new Set(all.flatMap(({ labels }) => Object.keys(labels)));
  expect([...names].filter((name) => FORBIDDEN.test(name) || TAKEN.includes(name))).toEqual([]);
  const values = new Set(all.flatMap(({ labels }) => Object.values(labels)));
  expect([...values].filter((value) => /\d{5,}|127\.0\.0\.1|\/api\/|service_/.test(value))).toEqual([]);
});

test('every metric name follows the Prometheus conventions for units and suffixes', () => {
  const names = new Set([...seriesOf.values()].flat().map(({ name }) => name));
  const odd = [...names].filter((name) => /milli|micro|_ms(?:_|$)|minutes|kilo|mega|percent/.test(name));
  expect(odd).toEqual([]);
});

test('a request whose body is still arriving is shown as receiving', async () => {
  const shown = async () => {
    const series = await scrapeSeries(network.address('gateway', 'admin'));
    return series.find(({ name }) => name === 'gateway_receiving_requests')?.value;
  };
  expect(await shown()).toBe(0);
  const socket = await openSocket(network.address('gateway', 'http'));
  const head = `POST /api/v1/reverse HTTP/1.1\nHost: a\nX-API-Key: ${key.secret}\nContent-Type: application/json\n`;
  socket.write(wire(`${head}Content-Length: 20\n\n{`));
  await expect.poll(shown).toBe(1);
  socket.destroy();
  await once(socket, 'close');
  await expect.poll(shown).toBe(0);
});
