import { expect, test } from 'vitest';
import { ALL_RULES } from '../contract/monitoring.ts';
import { readExpression } from '../measure/promql.ts';
import { faster, fasterExpression } from './faster.ts';

test('the durations of a rule are divided, its thresholds and labels are not', () => {
  const file = `
groups:
  - name: a
    interval: 5m
    rules:
      - alert: A
        expr: max_over_time(up{job="a 5m"}[1h30m] offset 10m) > 60 and count_over_time(up[1d:5m]) > 5
        for: 2m
        labels: {severity: critical}
`;
  expect(faster(file, 30)).toBe(`groups:
  - name: a
    interval: 10000ms
    rules:
      - alert: A
        expr: max_over_time(up{job="a 5m"}[180000ms] offset 20000ms) > 60 and
          count_over_time(up[2880000ms:10000ms]) > 5
        for: 4000ms
        labels:
          severity: critical
`);
});

const rules = ALL_RULES.map(({ alert, record, expr }) => ({ name: alert ?? record, expr }));

test.each(rules)('$name reads the same series when it is faster', ({ expr }) => {
  expect(readExpression(fasterExpression(expr, 30)).selectors).toEqual(readExpression(expr).selectors);
  expect(fasterExpression(expr, 30)).not.toMatch(/\[\d+[smhd][\]:]/);
});
