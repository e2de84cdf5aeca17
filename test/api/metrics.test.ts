import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { ERRORS } from '#kit/errors.ts';
import { startService } from '#kit/service/service.ts';
import { ROUTES } from '#proto/rest/index.ts';
import { lookupService } from '#services/lookup/service.ts';
import { ALL_RULES, EXPRESSIONS } from '../contract/monitoring.ts';
import { type Series, scrapeSeries } from '../measure/exposition.ts';
import { printFigure } from '../measure/figures.ts';
import { isMatch, type Matcher, readExpression, type Selector } from '../measure/promql.ts';
import { Authority, writeTlsFiles } from '../network/certificates.ts';
import { openSocket, wire } from '../network/raw-http.ts';
import { PATIENCE } from '../patience.ts';
import { testEnvironment } from '../system/signed-calls.ts';
import { GUILD, type Network, startNetwork } from '../system/system.ts';

/** The labels that Prometheus adds (deploy/prometheus/README.md). */
const TARGET_LABELS = ['namespace', 'job', 'instance'];
/** Series that Prometheus creates itself. */
const OF_PROMETHEUS = ['up', 'ALERTS'];
/** Labels with a fixed set of values. An expression with another value is probably a typing error. */
const FIXED_VALUES = ['le', 'state', 'channel'];
/** Labels that scraping in a cluster adds. Prometheus would rename our own labels with these names. */
const TAKEN = [...TARGET_LABELS, 'service', 'pod', 'container', 'endpoint', 'node', 'cluster'];
/** Label names that suggest a key, a person, an address or other client input. */
const FORBIDDEN = /(?:^|_)(?:key|guild|user|chat_id|game_id|id|name|address|ip|path|url|server|token|code_text)(?:$|_)/;
const MAX_SERIES = 3_000;

let network: Network;
let key: { id: string; secret: string };
const seriesOf = new Map<string, Series[]>();

beforeAll(async () => {
  network = await startNetwork();
  key = await network.createKey();
  await exercise();
  for (const name of network.services.keys()) seriesOf.set(name, await scrapeSeries(network.address(name, 'admin')));
  seriesOf.get('lookup')?.push(...(await certificateSeries()));
});
afterAll(() => network.stop());

/** Causes every counted event, and calls every route. */
async function exercise(): Promise<void> {
  const post = (path: string, body: object, headers = {}) =>
    network.call(path, { method: 'POST', key: key.secret, headers, body: { guild_id: GUILD, ...body } });
  for (const { method, path } of ROUTES) {
    const filledIn = path.replace(':guildId', GUILD).replaceAll(/:\w+/g, '910000000000000001');
    const body = ['POST', 'PUT', 'PATCH'].includes(method) ? { guild_id: GUILD } : undefined;
    await network.call(filledIn, { method, key: key.secret, headers: { 'x-guild-id': GUILD }, body });
  }
  await post('/bindings/validate', { game_group_id: 7, min_rank: 1, max_rank: 2 });
  await post('/verification/link', { chat_id: '920000000000000001', game_id: 7001 });
  await post('/sync/roles', { chat_id: '920000000000000001' });
  await post('/game/servers/heartbeat', { server_id: 'one', place_id: 40001, player_count: 1, max_players: 2 });
  await post(`/moderation/${GUILD}/game/ban`, { game_id: 7001, reason: 'Cheats' });
  await network.call(`/moderation/${GUILD}/ban-status/7001`, { key: key.secret });
  await network.call('/whoami', { key: `${key.secret}x` });
  await fetch(`http://${network.address('lookup', 'http')}/api/v1/lookup/chat/920000000000000001`);
  const other = await network.createKey();
  await network.call('/whoami', { key: other.secret });
  await network.admin().revokeKey({ keyId: other.id, actor: 'test' });
  await takeCommand();
  await listWithoutNames();
  await vi.waitUntil(async () => (await network.call('/whoami', { key: other.secret })).status === 401, PATIENCE);
}

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

/** The live server receives the ban as a command and acknowledges it. */
async function takeCommand(): Promise<void> {
  const call = { key: key.secret, headers: { 'x-guild-id': GUILD } };
  const commands = '/game/servers/one/commands';
  const id = await vi.waitUntil(async () => {
    const { json } = await network.call(commands, call);
    return json.data.commands[0]?.command_id as string | undefined;
  }, PATIENCE);
  const body = { guild_id: GUILD, status: 'success' };
  await network.call(`${commands}/${id}/ack`, { method: 'POST', key: key.secret, body });
}

/** Lists the bindings of a guild that does not exist on the chat platform. */
async function listWithoutNames(): Promise<void> {
  const guildId = '990000000000000001';
  const client = new Client({ connectionString: network.databaseUrl });
  await client.connect();
  await client.query(
    `INSERT INTO bindings.bindings
       (guild_id, chat_role_id, type, account_age_platform, account_age_min_days, created_at, updated_at)
     VALUES ($1, '910000000000000001', 'account_age', 'game', 7, now(), now())`,
    [guildId],
  );
  await client.end();
  const own = await network.createKey({ guildId });
  await network.call('/bindings/list', { key: own.secret, headers: { 'x-guild-id': guildId } });
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
  if (recorded.has(metric) || OF_PROMETHEUS.includes(metric)) return [];
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
  const known = new Set([...TARGET_LABELS, ...series.flatMap(({ labels }) => Object.keys(labels))]);
  expect(grouping.filter((label) => !known.has(label))).toEqual([]);
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

test('no process can export more than 3,000 series', () => {
  const statuses = new Set(Object.values(ERRORS).map(({ http }) => http)).size + 2;
  for (const [service, series] of seriesOf) {
    const own = ROUTES.filter((route) => service === 'gateway' || route.service === service);
    // In the worst case every route returns every status. Each route already has a series for its documented ones.
    const most = series.length + own.length * statuses;
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
