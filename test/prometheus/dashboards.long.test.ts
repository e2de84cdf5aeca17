import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { OF_OTHER_SERVERS } from '../contract/monitoring.ts';
import { printFigure } from '../measure/figures.ts';
import { Authority, writeTlsFiles } from '../network/certificates.ts';
import { exercise } from '../system/exercise.ts';
import { OPTIONAL_PARTS } from '../system/optional-parts.ts';
import { type Network, OTHER_GUILD, startNetwork } from '../system/system.ts';
import { fillIn, isInstallationWide, metricsOf, PANEL_QUERIES, type PanelQuery } from './panels.ts';
import { Prometheus, prometheusProgram, type Sample, type Target } from './prometheus.ts';

/** How many times faster than in production the recording rules look at the past. */
const SPEED = 60;
/** `$__rate_interval`: longer than the whole test. */
const RATE_INTERVAL = '5m';
const PATIENCE_MS = 60_000;
/** The services that run twice. */
const REPLICATED = ['events', 'lookup', 'bindings', 'members', 'activity', 'moderation', 'auth'];

const idOf = (labels: Record<string, string>) => Object.entries(labels).map(String).toSorted().join(' ');
const labelsOf = ({ where }: PanelQuery, result: readonly Sample[]) => ({
  where,
  labels: result.map(({ labels }) => idOf(labels)).toSorted(),
});

/** A query that shows something only while something is wrong, such as `… == 0`. */
const OF_FAULTS = / (?:==|>) 0(?=\)?$)/;

const isInstalled = prometheusProgram() !== undefined;
if (!isInstalled) console.warn('NOT CHECKED: Prometheus is not installed (Debian: apt-get install prometheus)');

describe.skipIf(!isInstalled)('the dashboards on a real Prometheus that scrapes a system with two replicas', () => {
  const folder = mkdtempSync(join(tmpdir(), 'guild-dashboards-'));
  const prometheus = new Prometheus(folder, SPEED);
  /** The first and the second replica of each service that runs twice. */
  const replicas: [Target[], Target[]] = [[], []];
  let network: Network;
  /** All queries are evaluated at this time, in seconds. */
  let now: number;

  beforeAll(async () => {
    network = await startNetwork({ console: true, environment: OPTIONAL_PARTS });
    const targets = [...network.services.keys()].map(target);
    replicas[0] = targets.filter(({ name }) => REPLICATED.includes(name));
    targets.push(await startWithTls());
    for (const name of REPLICATED) await network.startOne(name);
    replicas[1] = REPLICATED.map(target);
    targets.push(...replicas[1]);
    await prometheus.start(targets);
    await vi.waitUntil(async () => (await prometheus.value('count(up == 1)')) === targets.length, waiting);
    const { secret } = await network.createKey();
    await exercise(network, secret);
    await causeRejections();
    const loadEnd = Date.now();
    // The rules that record the objectives need some seconds of requests.
    await vi.waitUntil(async () => {
      await network.call('/whoami', { key: secret });
      return (await prometheus.value('count({__name__=~"release:.+:budget_left30d"})')) === 2;
    }, waiting);
    // A rate needs two samples of a series that appeared at the end. On a busy machine a scrape may fail.
    await vi.waitUntil(async () => {
      const since = Math.floor((Date.now() - loadEnd) / 1000);
      return since > 0 && ((await prometheus.value(`min(sum_over_time(up[${since}s]))`)) ?? 0) >= 3;
    }, waiting);
    now = Date.now() / 1000;
  }, 120_000);

  afterAll(async () => {
    await prometheus.stop();
    await network?.stop();
    rmSync(folder, { recursive: true });
  }, 60_000);

  const waiting = { timeout: PATIENCE_MS, interval: 200 };
  const target = (name: string): Target => ({ name, address: network.address(name, 'admin') });

  /** Requests that are rejected, or whose client disconnects, and a gRPC call that fails. */
  async function causeRejections(): Promise<void> {
    const slow = await network.createKey({ rateLimit: 1 });
    await network.call('/whoami', { key: slow.secret });
    await network.call('/whoami', { key: slow.secret });
    const console = `http://${network.address('console', 'http')}/console`;
    await fetch(`${console}/session`, { headers: { cookie: `__Host-guild-console=${'a'.repeat(43)}` } });
    const disconnect = new AbortController();
    const { secret: key } = await network.createKey({ guildId: OTHER_GUILD });
    const headers = { 'x-guild-id': OTHER_GUILD };
    const events = network
      .call('/events?after=0&wait=20&types=ban.*', { key, headers, signal: disconnect.signal })
      .catch(() => undefined);
    await vi.waitUntil(async () => (await prometheus.value('sum(gateway_waiting_polls)')) === 1, waiting);
    disconnect.abort();
    await events;
  }

  /** Starts a replica of lookup with a certificate, which nobody calls. */
  async function startWithTls(): Promise<Target> {
    const authority = new Authority('ours');
    await network.startOne('lookup', writeTlsFiles(folder, authority.issue(), authority.cert));
    return target('lookup');
  }

  const evaluate = (query: PanelQuery, chosen?: Record<string, string>) =>
    prometheus.query(fillIn(query, RATE_INTERVAL, chosen), now);

  test.each(PANEL_QUERIES)('$where has a result', async (query) => {
    const result = await evaluate(query);
    if (metricsOf(query).some((metric) => OF_OTHER_SERVERS.includes(metric))) return;
    const all = OF_FAULTS.test(query.expr)
      ? await evaluate({ ...query, expr: query.expr.replace(OF_FAULTS, '') })
      : result;
    expect({ where: query.where, isEmpty: all.length === 0 }).toEqual({ where: query.where, isEmpty: false });
  });

  test('a panel shows the chosen cluster, namespace and release, and no other', async () => {
    const own = { cluster: 'lab', namespace: 'drill', release: 'drill' };
    for (const query of PANEL_QUERIES) {
      const shown = await evaluate(query);
      // Without the values, because Prometheus adds up floating-point numbers in any order.
      expect(labelsOf(query, await evaluate(query, own))).toEqual(labelsOf(query, shown));
      // A number of faults is 0 if there is nothing to count.
      const none = query.expr.endsWith('or vector(0)') ? [{ labels: {}, value: 0 }] : [];
      for (const label of Object.keys(own)) {
        const others = await evaluate(query, { ...own, [label]: 'another' });
        expect(labelsOf(query, others)).toEqual(labelsOf(query, none));
      }
    }
  });

  test('what both replicas report for the whole installation counts once', async () => {
    const queries = PANEL_QUERIES.filter(isInstallationWide);
    let compared = 0;
    const wrong: string[] = [];
    for (const query of queries) {
      const both = await evaluateFor(query, replicas.flat());
      const [first, second] = [await evaluateFor(query, replicas[0]), await evaluateFor(query, replicas[1])];
      for (const [series, value] of both) {
        const each = [first.get(series), second.get(series)].filter((one) => one !== undefined);
        if (Math.abs(value - Math.max(...each)) > 1e-6)
          wrong.push(`${query.where}: ${value}, not ${each.join(' or ')}`);
        if (each.length === 2 && value > 0) compared++;
      }
    }
    printFigure('values that two replicas report, compared', String(compared));
    expect(wrong).toEqual([]);
    expect(compared).toBeGreaterThan(3);
  });

  /** The values of a query about some processes only, by the labels of the series. */
  async function evaluateFor(query: PanelQuery, targets: readonly Target[]): Promise<Map<string, number>> {
    const instances = targets.map(({ address }) => address).join('|');
    const expr = query.expr.replaceAll('release=~"$release"', `release=~"$release",instance=~"${instances}"`);
    const result = await evaluate({ ...query, expr });
    return new Map(result.map(({ labels, value }) => [idOf(labels), value]));
  }

  test('a request that the gateway relays to a service counts once in each panel', async () => {
    const total = async (expr: string) => {
      const result = await prometheus.query(expr, now);
      return result.reduce((sum, { value }) => sum + value, 0);
    };
    const ofPanel = async (panel: string) => {
      const queries = PANEL_QUERIES.filter(({ where }) => where.startsWith(`Guild Data / ${panel} (`));
      const totals = await Promise.all(queries.map((query) => total(fillIn(query, RATE_INTERVAL))));
      return totals.reduce((sum, one) => sum + one, 0);
    };
    const ofJobs = (jobs: string) =>
      total(`sum(rate(http_requests_total{job=~"guild-data/(${jobs})"}[${RATE_INTERVAL}]))`);
    const services = await ofJobs(REPLICATED.join('|'));
    const gateway = await ofJobs('gateway');
    printFigure('requests a second', `${services} at services, ${gateway} at the gateway`);
    expect(Math.min(services, gateway)).toBeGreaterThan(0);
    expect(await ofPanel('Services: REST requests by route')).toBeCloseTo(services, 6);
    expect(await ofPanel('Overview: Requests by status class')).toBeCloseTo(gateway, 6);
  });
});
