import { once } from 'node:events';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { ERRORS } from '#kit/errors.ts';
import { ROUTES } from '#proto/rest/index.ts';
import { ALL_RULES, EXPRESSIONS } from '../contract/monitoring.ts';
import { scrapeSeries, type Series } from '../exposition.ts';
import { printFigure } from '../figures.ts';
import { GUILD, type Network, startNetwork } from '../network.ts';
import { isMatch, type Matcher, readExpression } from '../promql.ts';
import { openSocket, wire } from '../raw-http.ts';

/** What Prometheus adds, as deploy/prometheus/README.md has it. */
const TARGET_LABELS = ['namespace', 'job', 'instance'];
/** Values that are fixed where the metric is made: one that is never shown is a slip of the pen. */
const FIXED_VALUES = ['le', 'state', 'channel'];
/** Each could hold a key, a person, an address or whatever a caller sends. */
const FORBIDDEN = /(?:^|_)(?:key|guild|user|chat_id|game_id|id|name|address|ip|path|url|server|token|code_text)(?:$|_)/;
const MOST_SERIES = 3_000;

let network: Network;
let key: { id: string; secret: string };
const seriesOf = new Map<string, Series[]>();

beforeAll(async () => {
  network = await startNetwork();
  key = await network.createKey();
  await exercise();
  for (const name of network.services.keys()) seriesOf.set(name, await scrapeSeries(network.address(name, 'admin')));
});
afterAll(() => network.stop());

/** Does what makes every metric that counts something show it, and calls every route of the table. */
async function exercise(): Promise<void> {
  const post = (path: string, body: object, headers = {}) =>
    network.call(path, { method: 'POST', key: key.secret, headers, body: { guild_id: GUILD, ...body } });
  for (const { method, path } of ROUTES) {
    const filledIn = path.replace(':guildId', GUILD).replaceAll(/:\w+/g, '910000000000000001');
    const body = method === 'POST' || method === 'PATCH' ? { guild_id: GUILD } : undefined;
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
  await vi.waitUntil(async () => (await network.call('/whoami', { key: other.secret })).status === 401);
  await vi.waitUntil(async () => {
    const series = await scrapeSeries(network.address('moderation', 'admin'));
    return series.some(({ name }) => name === 'moderation_deliveries_total');
  });
}

/** The series of all processes that a selector's `job` lets through, without what only Prometheus has. */
function seriesFor(metric: string, matchers: readonly Matcher[]): Series[] {
  const jobs = matchers.filter(({ label }) => label === 'job');
  return [...seriesOf]
    .filter(([service]) => jobs.every((matcher) => isMatch(matcher, `guild-data/${service}`)))
    .flatMap(([, series]) => series.filter(({ name }) => name === metric));
}

const recorded = new Set(ALL_RULES.map(({ record }) => record));

test.each(EXPRESSIONS)('$where reads metrics and labels that the system shows', ({ expr }) => {
  const { selectors, grouping } = readExpression(expr);
  const known = new Set(TARGET_LABELS);
  for (const { metric, matchers } of selectors) {
    if (recorded.has(metric) || metric === 'up') continue;
    const series = seriesFor(metric, matchers);
    expect(series, metric).not.toEqual([]);
    expect(
      matchers.map(({ label }) => label),
      `${metric} without its job`,
    ).toContain('job');
    const labels = new Set(series.flatMap((one) => Object.keys(one.labels)));
    for (const label of labels) known.add(label);
    for (const matcher of matchers) {
      if (TARGET_LABELS.includes(matcher.label)) continue;
      expect([...labels], `labels of ${metric}`).toContain(matcher.label);
      if (!FIXED_VALUES.includes(matcher.label)) continue;
      const values = series.map((one) => one.labels[matcher.label] ?? '');
      expect(
        values.some((value) => isMatch(matcher, value)),
        `${metric}{${matcher.label}=${matcher.value}}`,
      ).toBe(true);
    }
  }
  for (const label of grouping) expect([...known]).toContain(label);
});

test('no process can show more than 3,000 series', () => {
  const statuses = new Set(Object.values(ERRORS).map(({ http }) => http)).size + 2;
  for (const [service, series] of seriesOf) {
    const own = ROUTES.filter((route) => service === 'gateway' || route.service === service);
    // Every route answers with every status at worst; each has a series for each of its own already.
    const most = series.length + own.length * statuses;
    printFigure(`series of ${service}`, `${series.length}, ${most} at most`);
    expect(most, service).toBeLessThanOrEqual(MOST_SERIES);
  }
});

test('no label holds a key, a guild, a person, an address or what a caller wrote', () => {
  const all = [...seriesOf.values()].flat();
  const names = new Set(all.flatMap(({ labels }) => Object.keys(labels)));
  expect([...names].filter((name) => FORBIDDEN.test(name))).toEqual([]);
  const values = new Set(all.flatMap(({ labels }) => Object.values(labels)));
  expect([...values].filter((value) => /\d{5,}|127\.0\.0\.1|\/api\/|service_/.test(value))).toEqual([]);
});

test('every metric has a unit and a kind in its name as they are usual', () => {
  const names = new Set([...seriesOf.values()].flat().map(({ name }) => name));
  const odd = [...names].filter((name) => /milli|micro|_ms(?:_|$)|minutes|kilo|mega|percent/.test(name));
  expect(odd).toEqual([]);
});

test('what the gateway has under way shows while it lasts', async () => {
  const shown = async () => {
    const series = await scrapeSeries(network.address('gateway', 'admin'));
    return series.find(({ name }) => name === 'gateway_in_flight_requests')?.value;
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
