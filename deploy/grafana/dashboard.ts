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

/** A panel: what it shows, in which of Grafana's units, and which alerts watch the same. */
export interface PanelSpec {
  title: string;
  description: string;
  /** One of Grafana's units: `reqps`, `s`, `percentunit`, `bytes`, `short`. */
  unit: string;
  /** Expressions by their legends. */
  queries: Record<string, string>;
  alerts?: readonly string[];
  /** The newest value in large, red from this value on, or up to it when less is worse. */
  stat?: { bad: number; lessIsWorse?: boolean };
  /** The top of the scale, where there is one. */
  max?: number;
}

export interface DashboardSpec {
  /** Also its file's name. */
  name: string;
  title: string;
  description: string;
  /** Whether `$job` is offered, and between which services. */
  jobs?: string;
  /** Panels by the rows that they stand in. */
  rows: Record<string, readonly PanelSpec[]>;
}

const SOURCE = { type: 'prometheus', uid: '${datasource}' };
const COLUMNS = 24;
const RED = '#e02f44';
const GREEN = '#37872d';

/** A dashboard as Grafana imports it. */
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
      .description('The address below which the files of Guild Data can be read, with a slash at its end')
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
