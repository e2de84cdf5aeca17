import { expect, test } from 'vitest';
import { ALL_DASHBOARDS, ALL_RULES, DASHBOARDS, panelsOf, RUNBOOKS } from '#test/contract/monitoring.ts';
import { filesBelow, readText } from '#test/contract/sources.ts';
import { generate } from './generate.ts';
import { dashboardModel } from './model.ts';

const alerts = ALL_RULES.map(({ alert }) => alert?.toLowerCase());
const panels = ALL_DASHBOARDS.flatMap((dashboard) => panelsOf(dashboard).map((panel) => ({ ...panel, dashboard })));
const addresses = ALL_DASHBOARDS.map(({ uid }) => uid);

test('the dashboards are what npm run dashboards writes', () => {
  const written = filesBelow(DASHBOARDS, /./).map((path) => [path.slice(`${DASHBOARDS}/`.length), readText(path)]);
  expect(Object.fromEntries(written)).toEqual(Object.fromEntries(generate()));
});

test('a file has the name of the one dashboard in it, which no dashboard of another program has', () => {
  const files = filesBelow(DASHBOARDS, /./).map((path) => path.slice(`${DASHBOARDS}/`.length));
  expect(files.toSorted()).toEqual(addresses.map((uid) => `${uid}.json`).toSorted());
  expect(new Set(addresses).size).toBe(ALL_DASHBOARDS.length);
  expect(new Set(ALL_DASHBOARDS.map(({ title }) => title)).size).toBe(ALL_DASHBOARDS.length);
  for (const uid of addresses) expect(uid).toMatch(/^guild-data-[a-z]+$/);
});

test.each(ALL_DASHBOARDS)('$title is a dashboard in the model of Grafana', (dashboard) => {
  expect(dashboardModel.safeParse(dashboard).error?.issues ?? []).toEqual([]);
});

test('the model rejects what Grafana does not know', () => {
  const [dashboard] = ALL_DASHBOARDS;
  const [row, ...others] = dashboard?.panels ?? [];
  const wrong = [
    { ...dashboard, pannels: [] },
    { ...dashboard, uid: undefined },
    { ...dashboard, panels: [{ ...row, gridPos: { x: 0.5, y: 0, w: 4.8, h: 1 } }, ...others] },
  ];
  expect(wrong.map((one) => dashboardModel.safeParse(one).success)).toEqual([false, false, false]);
});

test.each(ALL_DASHBOARDS)(
  '$title: no two panels are in the same place, and none has the ID of another',
  ({ panels }) => {
    const taken = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, cell) => `${x + (cell % w)} ${y + Math.floor(cell / w)}`),
    );
    expect(new Set(taken).size).toBe(taken.length);
    expect(Math.max(...panels.map(({ gridPos: { x, w } }) => x + w))).toBeLessThanOrEqual(24);
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
  },
);

test('the reader chooses a data source, and the clusters, namespaces and releases in it; at first it is all of them', () => {
  for (const { templating } of ALL_DASHBOARDS) {
    const names = templating.list.map(({ name }) => name);
    const chosen = ['cluster', 'namespace', 'release', ...(names.includes('job') ? ['job'] : [])];
    expect(names).toEqual(['datasource', ...chosen, 'runbooks']);
    const variables = templating.list.filter(({ name }) => chosen.includes(name));
    for (const [index, { name, query, ...variable }] of variables.entries()) {
      const all = { includeAll: true, multi: true, current: { value: ['$__all'] } };
      expect(variable).toMatchObject(name === 'job' ? all : { ...all, allValue: '.*' });
      const narrowed = chosen.slice(0, index).map((earlier) => `${earlier}=~"$${earlier}"`);
      for (const matcher of narrowed) expect(JSON.parse(JSON.stringify(query)).query).toContain(matcher);
    }
  }
  const withJob = ALL_DASHBOARDS.filter(({ templating }) => templating.list.some(({ name }) => name === 'job'));
  expect(withJob.map(({ uid }) => uid).toSorted()).toEqual(['guild-data-platforms', 'guild-data-services']);
});

test('every dashboard leads to all others, with the time and all variables', () => {
  for (const { links, tags } of ALL_DASHBOARDS) {
    expect(tags).toEqual(['guild-data']);
    expect(links.map(({ title }) => title)).toEqual(['Guild Data', 'Runbooks']);
    expect(links[0]).toMatchObject({ type: 'dashboards', tags, includeVars: true, keepTime: true });
  }
});

test.each(panels)('$dashboard.title: $title says what it shows, in which unit, and from where', (panel) => {
  expect(panel.description).toMatch(/^[A-Z].+\.$/);
  expect(['reqps', 'ops', 's', 'percentunit', 'bytes', 'short']).toContain(panel.fieldConfig?.defaults.unit);
  expect(panel.datasource?.uid).toBe('${datasource}');
  expect(panel.targets?.length).toBeGreaterThan(0);
});

const panelLinks = panels.flatMap(({ title, dashboard, links = [] }) =>
  links.map(({ url }) => ({ where: `${dashboard.title}: ${title}`, url })),
);

const toDashboards = panelLinks.filter(({ url }) => url.startsWith('/'));
const toRunbooks = panelLinks.filter(({ url }) => !url.startsWith('/'));

test.each(toDashboards)('$where: the link $url leads to a dashboard, with the time and all variables', ({ url }) => {
  const [path = '', query] = url.split('?');
  expect(addresses.map((uid) => `/d/${uid}`)).toContain(path);
  expect(query).toBe('${__url_time_range}&${__all_variables}');
});

test.each(toRunbooks)('$where: the link $url leads to the runbook of an alert', ({ url }) => {
  const [page, anchor] = url.split('#');
  expect(page).toBe(`\${runbooks}${RUNBOOKS}`);
  expect(alerts).toContain(anchor);
});

test('every alert is one click from a panel that shows what it watches', () => {
  const linked = new Set(panelLinks.map(({ url }) => url.split('#')[1]));
  const missing = alerts.filter((alert) => alert !== undefined && !linked.has(alert));
  expect(missing).toEqual([]);
});
