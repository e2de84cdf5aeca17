import { INSTALLATION_WIDE } from '../../deploy/grafana/queries.ts';
import { ALL_DASHBOARDS, type Dashboard, panelsOf } from '../contract/monitoring.ts';
import { readExpression } from '../measure/promql.ts';

/** A query of a panel. */
export interface PanelQuery {
  /** The dashboard, the panel and the legend. */
  where: string;
  expr: string;
  dashboard: Dashboard;
}

export const PANEL_QUERIES: readonly PanelQuery[] = ALL_DASHBOARDS.flatMap((dashboard) =>
  panelsOf(dashboard).flatMap(({ title, targets = [] }) =>
    targets.map(({ expr, legendFormat }) => ({
      where: `${dashboard.title}: ${title} (${legendFormat})`,
      expr,
      dashboard,
    })),
  ),
);

/**
 * Fills in the variables of a query as Grafana does: a chosen value, or what the variable has for "All". `interval` is
 * `$__rate_interval`: four times the interval of scrapes, or more.
 */
export function fillIn(query: PanelQuery, interval: string, chosen: Record<string, string> = {}): string {
  const values = new Map(query.dashboard.templating.list.map(({ name, allValue }) => [name, chosen[name] ?? allValue]));
  return query.expr.replaceAll('$__rate_interval', interval).replaceAll(/\$(\w+)/g, (variable, name: string) => {
    const value = values.get(name);
    if (value === undefined) throw new Error(`${query.where}: no variable ${variable}`);
    return value;
  });
}

/** The metrics that a query reads. */
export const metricsOf = ({ expr }: PanelQuery) =>
  readExpression(expr.replaceAll('$__rate_interval', '1m')).selectors.map(({ metric }) => metric);

/** True if a query reads what every replica reports for the whole installation. */
export const isInstallationWide = (query: PanelQuery) =>
  metricsOf(query).some((metric) => INSTALLATION_WIDE.includes(metric));
