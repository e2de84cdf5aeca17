import { expect, test } from 'vitest';
import { judge } from './audit.ts';

const report = (severity: string) =>
  JSON.stringify({
    auditReportVersion: 2,
    vulnerabilities: {
      leaky: { severity, range: '<2.0.1', via: [{ title: 'Leaks', url: 'https://advisories.example/1' }, 'inner'] },
    },
    metadata: { dependencies: { total: 193 } },
  });

test.each(['moderate', 'high', 'critical'])('a %s vulnerability fails the audit and is described', (severity) => {
  const lines = [`${severity}: leaky <2.0.1`, '  Leaks (https://advisories.example/1)', '  by inner'];
  expect(judge(report(severity))).toEqual({ result: 'vulnerable', lines });
});

test('a low vulnerability passes', () => {
  expect(judge(report('low'))).toMatchObject({ result: 'clean' });
});

test.each([
  ['an error of the registry', '{"statusCode":405,"uri":"https://secret.example"}', 'the registry answered 405'],
  ['nothing', '', 'the registry did not return a report'],
  ['half a report', '{"auditReportVersion":2,"vulnerabilities":', 'the registry did not return a report'],
  ['a report of another kind', '{"auditReportVersion":3}', 'the registry did not return a report'],
])('%s is reported as not checked, and never as clean', (_what, text, line) => {
  expect(judge(text)).toEqual({ result: 'not checked', lines: [line] });
});
