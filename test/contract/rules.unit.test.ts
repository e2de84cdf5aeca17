import { expect, test } from 'vitest';
import { REJECTIONS } from '#gateway/telemetry/rejections.ts';
import { ERRORS } from '#kit/errors.ts';
import { ROUTES } from '#proto/rest/index.ts';
import { readExpression } from '../measure/promql.ts';
import { ALL_RULE_TESTS, ALL_RULES, EXPRESSIONS, RUNBOOKS } from './monitoring.ts';
import { readText } from './sources.ts';

const alerts = ALL_RULES.filter(({ alert }) => alert !== undefined);
const records = ALL_RULES.filter(({ record }) => record !== undefined);
const runbooks = new Map(
  readText(RUNBOOKS)
    .split(/^## /m)
    .slice(1)
    .map((section) => [section.split('\n', 1)[0] ?? '', section]),
);

test('an alert has a unique name, a severity, a summary and a description', () => {
  const names = alerts.map(({ alert }) => alert);
  expect(names.length).toBeGreaterThan(20);
  expect(names).toEqual([...new Set(names)]);
  for (const { alert, labels, annotations } of alerts) {
    expect(alert).toMatch(/^GuildData[A-Z]\w+$/);
    expect(['critical', 'warning']).toContain(labels?.['severity']);
    expect(annotations).toEqual({
      summary: expect.stringMatching(/^\S.{10,80}$/),
      description: expect.stringMatching(/^\S.{20,300}\.$/),
      runbook_url: `${RUNBOOKS}#${alert?.toLowerCase()}`,
    });
  }
});

test.each(alerts.map(({ alert = '' }) => alert))('the runbook of %s has its meaning and what to do', (alert) => {
  const section = runbooks.get(alert) ?? '';
  const parts = [...section.matchAll(/^\*\*(.+?)\*\* (.+)$/gm)].map(([, name, text]) => [name, text]);
  expect(parts.map(([name]) => name)).toEqual(['Means:', 'Users see:', 'Look at:', 'Do:']);
  for (const [, text = ''] of parts) expect(text.length).toBeGreaterThanOrEqual('nothing.'.length);
});

test('every runbook section belongs to an existing alert', () => {
  expect(new Set(runbooks.keys())).toEqual(new Set(alerts.map(({ alert }) => alert)));
});

test.each(alerts.map(({ alert = '' }) => alert))('%s has tests in which it fires and in which it does not', (alert) => {
  const tests = ALL_RULE_TESTS.flatMap((one) => one.alert_rule_test ?? []).filter((one) => one.alertname === alert);
  const outcomes = tests.map(({ exp_alerts: expected }) => expected.length > 0);
  expect(outcomes).toContain(true);
  expect(outcomes).toContain(false);
});

test('every recording rule is tested and used', () => {
  const tested = ALL_RULE_TESTS.flatMap((one) => one.promql_expr_test ?? []).map(({ expr }) => expr);
  const reads = (expr: string) => readExpression(expr).selectors.map(({ metric }) => metric);
  const used = new Set(EXPRESSIONS.flatMap(({ expr }) => reads(expr)));
  for (const { record = '' } of records) {
    expect(tested.flatMap(reads)).toContain(record);
    expect(used).toContain(record);
  }
});

test('the objectives exclude exactly the routes that call a platform, and for latency those that wait', () => {
  const asking = ROUTES.filter(({ errors }) => errors && 'PLATFORM_ERROR' in errors).map(({ name }) => name);
  const waiting = ROUTES.filter(({ longPoll }) => longPoll).map(({ name }) => name);
  const leftOut = ALL_RULES.flatMap(({ alert, record, expr }) =>
    readExpression(expr).selectors.flatMap(({ metric, matchers }) =>
      matchers
        .filter(({ label, operator }) => label === 'route' && operator === '!~')
        .map(({ value }) => ({ rule: alert ?? record, metric, routes: value.split('|') })),
    ),
  );
  const durations = ['http_request_duration_seconds_count', 'http_request_duration_seconds_bucket'] as const;
  expect(leftOut.map(({ rule, metric }) => [rule, metric])).toEqual([
    ['release:guild_data_requests:rate5m', 'http_requests_total'],
    ['release:guild_data_faults:rate5m', 'http_requests_total'],
    ['release:guild_data_timed:rate5m', durations[0]],
    ['release:guild_data_slow:rate5m', durations[1]],
    ['GuildDataFaultsBurnFast', 'http_requests_total'],
    ['GuildDataFaultsBurnSlow', 'http_requests_total'],
    ...['GuildDataSlowBurnFast', 'GuildDataSlowBurnSlow'].flatMap((rule) => durations.map((metric) => [rule, metric])),
  ]);
  // Paths that no route has are left out too: a scanner's requests say nothing about the service.
  for (const { metric, routes } of leftOut) {
    expect(routes).toEqual(['none', ...asking, ...(metric === 'http_requests_total' ? [] : waiting)]);
  }
});

test('rejected requests, and those whose client disconnected, count neither as success nor as error', () => {
  const codes = records.flatMap(({ expr }) =>
    readExpression(expr).selectors.flatMap(({ metric, matchers }) =>
      metric === 'http_requests_total'
        ? [matchers.filter(({ label }) => label === 'code').map(({ operator, value }) => operator + value)]
        : [],
    ),
  );
  expect(codes).toEqual([[`!~${[...REJECTIONS, 499].join('|')}`], ['=~5..']]);
});

test('every status that a client can get is a success, a result, a rejection or a server error', () => {
  const statuses = new Set(Object.values(ERRORS).map(({ http }) => http));
  const results = [...statuses].filter((status) => status < 500 && !REJECTIONS.includes(status));
  expect(results.toSorted((one, other) => one - other)).toEqual([404, 409, 410, 422]);
  expect(REJECTIONS.filter((status) => !statuses.has(status as never))).toEqual([]);
});

test('every rule keeps installations apart: it groups and matches by cluster, namespace and release', () => {
  const groupings = ALL_RULES.flatMap(({ alert, record, expr }) =>
    readExpression(expr).groupings.map((labels) => ({ rule: alert ?? record, labels: labels.slice(0, 3) })),
  );
  const wrong = groupings.filter(({ labels }) => labels.join() !== 'cluster,namespace,release');
  expect(groupings.length).toBeGreaterThan(80);
  expect(wrong).toEqual([]);
});

test('a bucket label matches the notations of Prometheus 2 and 3', () => {
  const matchers = ALL_RULES.flatMap(({ expr }) => readExpression(expr).selectors.flatMap((one) => one.matchers));
  const wholeNumbers = matchers.filter(({ label, operator, value }) => {
    return label === 'le' && operator === '=' && !value.includes('.');
  });
  expect(wholeNumbers).toEqual([]);
});
