import type { Builder } from '@grafana/grafana-foundation-sdk/cog';
import {
  LegendDisplayMode,
  LegendPlacement,
  SortOrder,
  TooltipDisplayMode,
  VizLegendOptionsBuilder,
  VizTooltipOptionsBuilder,
} from '@grafana/grafana-foundation-sdk/common';
import {
  type Dashboard,
  DashboardBuilder,
  type DashboardLink,
  DashboardLinkType,
  defaultDashboardLink,
  RowBuilder,
  ThresholdsConfigBuilder,
  ThresholdsMode,
} from '@grafana/grafana-foundation-sdk/dashboard';
import { DataqueryBuilder } from '@grafana/grafana-foundation-sdk/prometheus';
import { PanelBuilder as StatBuilder } from '@grafana/grafana-foundation-sdk/stat';
import { PanelBuilder as TimeseriesBuilder } from '@grafana/grafana-foundation-sdk/timeseries';
import { SOURCE, variablesOf } from './variables.ts';

/** A panel: its queries, its unit, and the alerts about the same metrics. */
export interface PanelSpec {
  title: string;
  description: string;
  /** One of Grafana's units: `reqps`, `ops`, `s`, `percentunit`, `bytes`, `short`. */
  unit: string;
  /** PromQL expressions by legend. */
  queries: Record<string, string>;
  alerts?: readonly string[];
  /** Names of dashboards that show more of the same. */
  dashboards?: readonly string[];
  /** Shows the newest value as a number, red from `bad` on, or up to `bad` if `lessIsWorse`. */
  stat?: { bad: number; lessIsWorse?: boolean };
  /** Minimum of the y axis: 0, or none for values that can be negative. */
  min?: 0 | 'none';
  /** Maximum of the y axis, if fixed. */
  max?: number;
}

export interface DashboardSpec {
  name: string;
  title: string;
  description: string;
  /** Regular expression of the jobs for the variable `$job`; undefined for no such variable. */
  jobs?: string;
  /** Panels by row title. */
  rows: Record<string, readonly PanelSpec[]>;
}

const COLUMNS = 24;
const PANELS_PER_LINE = 3;
const STATS_PER_LINE = 6;
const RED = '#e02f44';
const GREEN = '#37872d';

/**
 * The address of a dashboard in Grafana, and the name of its file. Sidecars of Grafana write the files of all programs into
 * one folder, so the name says whose file it is.
 */
export const uidOf = (name: string) => `guild-data-${name}`;

/** Builds the JSON that Grafana imports. */
export function buildDashboard({ name, title, description, jobs, rows }: DashboardSpec): Dashboard {
  const builder = new DashboardBuilder(`Guild Data / ${title}`)
    .uid(uidOf(name))
    .description(description)
    .tags(['guild-data'])
    .time({ from: 'now-3h', to: 'now' })
    .refresh('30s')
    .timezone('browser')
    .link(otherDashboards)
    .link(runbookLink('Runbooks', ''));
  for (const variable of variablesOf(jobs)) builder.withVariable(variable);
  let id = 0;
  for (const [row, panels] of Object.entries(rows)) {
    builder.withRow(new RowBuilder(row).id(++id));
    for (const panel of panels) builder.withPanel(buildPanel(panel, panels).id(++id));
  }
  return builder.build();
}

function buildPanel(spec: PanelSpec, row: readonly PanelSpec[]): StatBuilder | TimeseriesBuilder {
  const panel = spec.stat ? statPanel(spec.stat) : linesPanel();
  panel
    .title(spec.title)
    .description(spec.description)
    .datasource(SOURCE)
    .unit(spec.unit)
    .span(Math.floor(COLUMNS / Math.min(row.length, spec.stat ? STATS_PER_LINE : PANELS_PER_LINE)))
    .links([
      ...(spec.dashboards ?? []).map(dashboardLink),
      ...(spec.alerts ?? []).map((alert) => runbookLink(alert, `#${alert.toLowerCase()}`)),
    ]);
  if (spec.min !== 'none') panel.min(0);
  if (spec.max !== undefined) panel.max(spec.max);
  for (const [index, [legend, expr]] of Object.entries(spec.queries).entries()) {
    const refId = String.fromCharCode('A'.charCodeAt(0) + index);
    const query = new DataqueryBuilder().refId(refId).datasource(SOURCE).expr(expr).legendFormat(legend);
    panel.withTarget(spec.stat ? query.instant() : query.range());
  }
  return panel;
}

const linesPanel = () =>
  new TimeseriesBuilder()
    .fillOpacity(10)
    .height(8)
    .legend(
      new VizLegendOptionsBuilder()
        .showLegend(true)
        .displayMode(LegendDisplayMode.List)
        .placement(LegendPlacement.Bottom),
    )
    .tooltip(new VizTooltipOptionsBuilder().mode(TooltipDisplayMode.Multi).sort(SortOrder.Descending));

function statPanel({ bad, lessIsWorse = false }: NonNullable<PanelSpec['stat']>): StatBuilder {
  const [low, high] = lessIsWorse ? [RED, GREEN] : [GREEN, RED];
  const thresholds = new ThresholdsConfigBuilder().mode(ThresholdsMode.Absolute).steps([
    { value: null, color: low },
    { value: bad, color: high },
  ]);
  return new StatBuilder().height(4).thresholds(thresholds);
}

/**
 * A link above the dashboard or of a panel. The builder of the SDK would move it into a menu (`placement`), which Grafana
 * before version 12 does not have.
 */
function link(fields: Partial<DashboardLink> & Pick<DashboardLink, 'title' | 'type'>): Builder<DashboardLink> {
  const { placement: _, ...defaults } = defaultDashboardLink();
  return { build: () => ({ ...defaults, ...fields }) };
}

const otherDashboards = link({
  title: 'Guild Data',
  type: DashboardLinkType.Dashboards,
  tags: ['guild-data'],
  includeVars: true,
  keepTime: true,
});

const runbookLink = (title: string, anchor: string) =>
  link({
    title,
    type: DashboardLinkType.Link,
    url: `\${runbooks}deploy/prometheus/runbooks.md${anchor}`,
    targetBlank: true,
  });

/** Carries over the time range and the values of all variables. */
const dashboardLink = (name: string) =>
  link({
    title: `Dashboard: ${name}`,
    type: DashboardLinkType.Link,
    url: `/d/${uidOf(name)}?\${__url_time_range}&\${__all_variables}`,
  });
