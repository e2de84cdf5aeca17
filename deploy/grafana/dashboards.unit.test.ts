import { expect, test } from 'vitest';
import { ALL_DASHBOARDS, ALL_RULES, DASHBOARDS, panelsOf, RUNBOOKS } from '#test/contract/monitoring.ts';
import { filesBelow, readText } from '#test/contract/sources.ts';
import { generate } from './generate.ts';

const alerts = ALL_RULES.map(({ alert }) => alert?.toLowerCase());
const panels = ALL_DASHBOARDS.flatMap((dashboard) => panelsOf(dashboard).map((panel) => ({ ...panel, dashboard })));

test('the dashboards are what npm run dashboards writes', () => {
  const written = filesBelow(DASHBOARDS, /./).map((path) => [path.slice(`${DASHBOARDS}/`.length), readText(path)]);
  expect(Object.fromEntries(written)).toEqual(Object.fromEntries(generate()));
});

test('a dashboard has an address of its own, a data source to choose, and leads to the others and the runbooks', () => {
  const addresses = ALL_DASHBOARDS.map(({ uid }) => uid);
  expect(new Set(addresses).size).toBe(ALL_DASHBOARDS.length);
  for (const { uid, links, templating } of ALL_DASHBOARDS) {
    expect(uid).toMatch(/^guild-data-[a-z]+$/);
    expect(links.map(({ title }) => title)).toEqual(['Guild Data', 'Runbooks']);
    const names = templating.list.map(({ name }) => name);
    expect(names.filter((name) => name !== 'job')).toEqual(['datasource', 'namespace', 'runbooks']);
  }
  const withJob = ALL_DASHBOARDS.filter(({ templating }) => templating.list.some(({ name }) => name === 'job'));
  expect(withJob.map(({ uid }) => uid).toSorted()).toEqual(['guild-data-platforms', 'guild-data-services']);
});

test.each(panels)('$dashboard.title: $title says what it shows, in which unit, and from where', (panel) => {
  expect(panel.description).toMatch(/^[A-Z].+\.$/);
  expect(['reqps', 'ops', 's', 'percentunit', 'bytes', 'short']).toContain(panel.fieldConfig?.defaults.unit);
  expect(panel.datasource?.uid).toBe('${datasource}');
  expect(panel.targets?.length).toBeGreaterThan(0);
  for (const { url } of panel.links ?? []) {
    const [page, anchor] = url.split('#');
    expect(page).toBe(`\${runbooks}${RUNBOOKS}`);
    expect(alerts).toContain(anchor);
  }
});

test('every alert is one click from a panel that shows what it watches', () => {
  const linked = new Set(panels.flatMap(({ links = [] }) => links.map(({ url }) => url.split('#')[1])));
  const missing = alerts.filter((alert) => alert !== undefined && !linked.has(alert));
  expect(missing).toEqual([]);
});
