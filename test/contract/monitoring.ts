import { parse } from 'yaml';
import { filesBelow, readText } from './sources.ts';

export const RULES = 'charts/guild-data/files/rules';
export const DASHBOARDS = 'charts/guild-data/files/dashboards';
export const RULE_TESTS = 'deploy/prometheus/tests';
export const RUNBOOKS = 'deploy/prometheus/runbooks.md';

export interface Rule {
  /** Name of a recording rule. */
  record?: string;
  /** Name of an alert. */
  alert?: string;
  expr: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
}

interface RuleFile {
  groups: { name: string; rules: Rule[] }[];
}

interface RuleTestFile {
  tests: {
    alert_rule_test?: { alertname: string; exp_alerts: unknown[] }[];
    promql_expr_test?: { expr: string }[];
  }[];
}

export interface Panel {
  id: number;
  type: string;
  gridPos: { x: number; y: number; w: number; h: number };
  title: string;
  description?: string;
  panels?: Panel[];
  links?: { url: string }[];
  datasource?: { uid: string };
  targets?: { expr: string; legendFormat: string; instant: boolean }[];
  fieldConfig?: { defaults: { unit?: string } };
}

export interface Dashboard {
  title: string;
  uid: string;
  tags: string[];
  links: { url?: string; title: string }[];
  panels: Panel[];
  templating: { list: { name: string; type: string; query?: unknown; allValue?: string }[] };
}

const ruleFiles = filesBelow(RULES, /\.yaml$/).map((path) => parse(readText(path)) as RuleFile);

/** Recording and alerting rules of all files. */
export const ALL_RULES = ruleFiles.flatMap(({ groups }) => groups.flatMap(({ rules }) => rules));

/** The files with promtool tests. */
export const ALL_RULE_TESTS = filesBelow(RULE_TESTS, /\.yaml$/).flatMap(
  (path) => (parse(readText(path)) as RuleTestFile).tests,
);

export const ALL_DASHBOARDS = filesBelow(DASHBOARDS, /\.json$/).map((path) => JSON.parse(readText(path)) as Dashboard);

/** All panels of a dashboard, including those in rows. */
export function panelsOf({ panels }: Pick<Dashboard, 'panels'>): Panel[] {
  return panels.flatMap((panel) => (panel.type === 'row' ? panelsOf({ panels: panel.panels ?? [] }) : [panel]));
}

/** Series that exist only if PostgreSQL has a replica that our role may see, or Redis has a replica or a limit. */
export const OF_OTHER_SERVERS = [
  'postgres_replication_lag_seconds',
  'redis_replication_lag_seconds',
  'redis_server_memory_max_bytes',
];

const filledIn = (expr: string) =>
  expr.replaceAll('$__rate_interval', '5m').replaceAll(/"\$(?:cluster|job|namespace|release)"/g, '".+"');

/** Every PromQL expression of the rules and dashboards, with Grafana's variables filled in. */
export const EXPRESSIONS: { where: string; expr: string }[] = [
  ...ALL_RULES.map(({ alert, record, expr }) => ({ where: alert ?? record ?? 'a rule without a name', expr })),
  ...ALL_DASHBOARDS.flatMap((dashboard) =>
    panelsOf(dashboard).flatMap(({ title, targets = [] }) =>
      targets.map(({ expr }) => ({ where: `${dashboard.title}: ${title}`, expr: filledIn(expr) })),
    ),
  ),
];
