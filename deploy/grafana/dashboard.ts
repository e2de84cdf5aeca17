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
  DashboardLinkBuilder,
  DashboardLinkType,
  DatasourceVariableBuilder,
  QueryVariableBuilder,
  RowBuilder,
  TextBoxVariableBuilder,
  ThresholdsConfigBuilder,
  ThresholdsMode,
  VariableRefresh,
  VariableSort,
} from '@grafana/grafana-foundation-sdk/dashboard';
import { DataqueryBuilder } from '@grafana/grafana-foundation-sdk/prometheus';
import { PanelBuilder as StatBuilder } from '@grafana/grafana-foundation-sdk/stat';
import { PanelBuilder as TimeseriesBuilder } from '@grafana/grafana-foundation-sdk/timeseries';

/** A panel: its queries, its unit, and the alerts about the same metrics. */
export interface PanelSpec {
  title: string;
  description: string;
  /** One of Grafana's units: `reqps`, `ops`, `s`, `percentunit`, `bytes`, `short`. */
  unit: string;
  /** PromQL expressions by legend. */
  queries: Record<string, string>;
  alerts?: readonly string[];
  /** Shows the newest value as a number, red from `bad` on, or up to `bad` if `lessIsWorse`. */
  stat?: { bad: number; lessIsWorse?: boolean };
  /** Maximum of the y axis, if fixed. */
  max?: number;
}

export interface DashboardSpec {
  /** Also the name of the file. */
  name: string;
  title: string;
  description: string;
  /** Regular expression of the jobs for the variable `$job`; undefined for no such variable. */
  jobs?: string;
  /** Panels by row title. */
  rows: Record<string, readonly PanelSpec[]>;
}

const SOURCE = { type: 'prometheus', uid: '${datasource}' };
const COLUMNS = 24;
const RED = '#e02f44';
const GREEN = '#37872d';

/** Builds the JSON that Grafana imports. */
export function buildDashboard({ name, title, description, jobs, rows }: DashboardSpec): Dashboard {
  const builder = new DashboardBuilder(`Guild Data / ${title}`)
    .uid(`guild-data-${name}`)
    .description(description)
    .tags(['guild-data'])
    .time({ from: 'now-3h', to: 'now' })
    .refresh('30s')
    .timezone('browser')
    .link(
      new DashboardLinkBuilder('Guild Data')
        .type(DashboardLinkType.Dashboards)
        .tags(['guild-data'])
        .includeVars(true)
        .keepTime(true),
    )
    .link(runbookLink('Runbooks', ''))
    .withVariable(new DatasourceVariableBuilder('datasource').label('Data source').type('prometheus'))
    .withVariable(queryVariable('namespace', 'Namespace', 'label_values(up{job=~"guild-data/.+"}, namespace)'));
  if (jobs !== undefined) {
    const services = queryVariable('job', 'Service', `label_values(up{job=~"${jobs}"}, job)`);
    builder.withVariable(services.multi(true).includeAll(true));
  }
  builder.withVariable(
    new TextBoxVariableBuilder('runbooks')
      .label('Runbooks at')
      .description('URL of the files of this repository, with a trailing slash, for links to runbooks')
      .defaultValue(''),
  );
  let id = 0;
  for (const [row, panels] of Object.entries(rows)) {
    builder.withRow(new RowBuilder(row).id(++id));
    for (const panel of panels) builder.withPanel(buildPanel(panel, panels).id(++id));
  }
  return builder.build();
}

const queryVariable = (name: string, label: string, query: string) =>
  new QueryVariableBuilder(name)
    .label(label)
    .datasource(SOURCE)
    .query({ query, refId: name })
    .refresh(VariableRefresh.OnTimeRangeChanged)
    .sort(VariableSort.AlphabeticalAsc);

function buildPanel(spec: PanelSpec, row: readonly PanelSpec[]): StatBuilder | TimeseriesBuilder {
  const panel = spec.stat ? statPanel(spec.stat) : linesPanel();
  panel
    .title(spec.title)
    .description(spec.description)
    .datasource(SOURCE)
    .unit(spec.unit)
    .min(0)
    .span(COLUMNS / Math.min(row.length, spec.stat ? 6 : 3))
    .links((spec.alerts ?? []).map((alert) => runbookLink(alert, `#${alert.toLowerCase()}`)));
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

const runbookLink = (title: string, anchor: string) =>
  new DashboardLinkBuilder(title)
    .type(DashboardLinkType.Link)
    .url(`\${runbooks}deploy/prometheus/runbooks.md${anchor}`)
    .targetBlank(true);
