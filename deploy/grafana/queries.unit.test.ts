import { expect, test } from 'vitest';
import { DEPLOYABLES } from '#local/processes.ts';
import { ALL_DASHBOARDS, ALL_RULES, panelsOf } from '#test/contract/monitoring.ts';
import { isMatch, readExpression } from '#test/measure/promql.ts';
import { INSTALLATION_WIDE } from './queries.ts';

/** How long Prometheus keeps series by default. */
const RETENTION_DAYS = 15;
const DAYS: Record<string, number> = { s: 1 / 86_400, m: 1 / 1_440, h: 1 / 24, d: 1, w: 7, y: 365 };

const queries = ALL_DASHBOARDS.flatMap((dashboard) =>
  panelsOf(dashboard).flatMap(({ title, description = '', targets = [] }) =>
    targets.map(({ expr, legendFormat }) => ({
      where: `${dashboard.title}: ${title} (${legendFormat})`,
      text: `${title} ${description}`,
      expr: expr.replaceAll('$__rate_interval', '1m'),
    })),
  ),
).map((query) => ({ ...query, selectors: readExpression(query.expr).selectors }));

test.each(queries)('$where selects clusters, namespaces and releases', ({ selectors }) => {
  expect(selectors.length).toBeGreaterThan(0);
  for (const { matchers } of selectors) {
    for (const label of ['cluster', 'namespace', 'release']) {
      expect(matchers).toContainEqual({ label, operator: '=~', value: `$${label}` });
    }
  }
});

test('what every replica reports for the whole installation is not added up over replicas', () => {
  const selectors = queries.flatMap(({ where, selectors }) => selectors.map((one) => ({ where, ...one })));
  const wide = selectors.filter(({ metric }) => INSTALLATION_WIDE.includes(metric));
  expect(wide.length).toBeGreaterThan(20);
  expect(wide.filter(({ aggregation }) => aggregation !== 'max')).toEqual([]);
});

test('a request counts at the gateway, at the console or at the service behind them, and never at two of them', () => {
  const services = DEPLOYABLES.map(({ name }) => name);
  const kindsOf = (names: readonly string[]) =>
    new Set(names.map((name) => (['gateway', 'console'].includes(name) ? name : 'service')));
  const counted = queries.flatMap(({ where, selectors }) =>
    selectors
      .filter(({ metric }) => metric.startsWith('http_request'))
      .map(({ matchers }) => {
        const jobs = matchers.filter(({ label, value }) => label === 'job' && value !== '$job');
        const names = services.filter((name) => jobs.every((matcher) => isMatch(matcher, `guild-data/${name}`)));
        return { where, kinds: [...kindsOf(names)] };
      }),
  );
  expect(counted.length).toBeGreaterThan(15);
  expect(counted.filter(({ kinds }) => kinds.length !== 1)).toEqual([]);
});

/** The longest time by which an expression, or a recording rule that it reads, looks back, in days. */
function daysOf(expr: string): number {
  const rules = new Map(ALL_RULES.map((rule) => [rule.record, rule.expr]));
  const own = [...expr.matchAll(/\[(\d+)([smhdwy])|offset (\d+)([smhdwy])/g)].map(
    ([, range, unit, offset, offsetUnit]) => Number(range ?? offset) * (DAYS[unit ?? offsetUnit ?? ''] ?? Number.NaN),
  );
  const recorded = readExpression(expr).selectors.map(({ metric }) => daysOf(rules.get(metric) ?? 'time()'));
  return Math.max(0, ...own, ...recorded);
}

test.each(queries)('$where looks back no further than Prometheus keeps series, or says so', ({ expr, text }) => {
  const days = daysOf(expr);
  expect(days).not.toBeNaN();
  if (days <= RETENTION_DAYS) return;
  // Only a recorded value can cover more: it was computed while the series existed.
  expect(daysOf(expr.replaceAll(/\b(?:release|job|instance)\w*:[\w:]+/g, 'up'))).toBeLessThanOrEqual(RETENTION_DAYS);
  expect(text).toContain(`${days} days`);
  expect(text).toContain(`Prometheus keeps ${RETENTION_DAYS} days by default`);
});

test('what is left of each error budget of 30 days, and how fast it burns, is shown', () => {
  const read = new Set(queries.flatMap(({ selectors }) => selectors.map(({ metric }) => metric)));
  for (const objective of ['faults', 'slow']) {
    expect(read).toContain(`release:guild_data_${objective}:budget_left30d`);
    for (const window of ['1h', '6h', '1d', '3d']) {
      expect(read).toContain(`release:guild_data_${objective}:ratio_rate${window}`);
    }
  }
});
