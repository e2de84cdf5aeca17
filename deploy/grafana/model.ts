import {
  BigValueColorMode,
  BigValueGraphMode,
  BigValueJustifyMode,
  BigValueTextMode,
  type DataSourceRef,
  type GraphFieldConfig,
  LegendDisplayMode,
  LegendPlacement,
  PercentChangeColorMode,
  type ReduceDataOptions,
  SortOrder,
  TooltipDisplayMode,
  type VizLegendOptions,
  VizOrientation,
  type VizTooltipOptions,
} from '@grafana/grafana-foundation-sdk/common';
import {
  type Dashboard,
  DashboardCursorSync,
  type DashboardLink,
  DashboardLinkType,
  type FieldConfig,
  type GridPos,
  type Panel,
  type RowPanel,
  type Threshold,
  ThresholdsMode,
  type VariableModel,
  type VariableOption,
  VariableRefresh,
  VariableSort,
  VariableType,
} from '@grafana/grafana-foundation-sdk/dashboard';
import type { Dataquery } from '@grafana/grafana-foundation-sdk/prometheus';
import type { Options as StatOptions } from '@grafana/grafana-foundation-sdk/stat';
import type { Options as TimeseriesOptions } from '@grafana/grafana-foundation-sdk/timeseries';
import { z } from 'zod';

/** A schema for each field: no field that Grafana's model does not have, and every field that it requires. */
type Fields<Model> = { [Key in keyof Model]: z.ZodType<Model[Key]> };

/** Fields without methods, which JSON does not have. */
type Data<Model> = Omit<Model, '_implementsDataqueryVariant'>;

/** An object of Grafana's model. The schema is as strict as Grafana's own: it rejects unknown fields. */
const object = <Model>(fields: Fields<Model>): z.ZodType<Model> => z.strictObject(fields) as z.ZodType<Model>;

const text = z.string().min(1);
const flag = z.boolean();
const count = z.int().nonnegative();

const source = object<DataSourceRef>({ type: z.literal('prometheus'), uid: z.literal('${datasource}') });

const link = object<DashboardLink>({
  title: text,
  type: z.enum(DashboardLinkType),
  icon: z.string(),
  tooltip: z.string(),
  url: text.optional(),
  tags: z.array(text),
  asDropdown: flag,
  targetBlank: flag,
  includeVars: flag,
  keepTime: flag,
});

const COLUMNS = 24;
const position = object<GridPos>({
  h: count.min(1),
  w: count.min(1).max(COLUMNS),
  x: count.max(COLUMNS - 1),
  y: count,
});

const target = object<Data<Dataquery>>({
  refId: z.string().regex(/^[A-Z]$/),
  datasource: source,
  expr: text,
  legendFormat: text,
  instant: flag,
  range: flag,
});

const threshold = object<Threshold>({ value: z.number().nullable(), color: z.string().regex(/^#[0-9a-f]{6}$/) });

const fieldConfig = object<FieldConfig>({
  unit: text,
  min: z.number().optional(),
  max: z.number().optional(),
  thresholds: z.strictObject({ mode: z.enum(ThresholdsMode), steps: z.array(threshold).min(2) }).optional(),
  custom: object<GraphFieldConfig>({ fillOpacity: count.max(100) }).optional(),
});

const statOptions = object<StatOptions>({
  graphMode: z.enum(BigValueGraphMode),
  colorMode: z.enum(BigValueColorMode),
  justifyMode: z.enum(BigValueJustifyMode),
  textMode: z.enum(BigValueTextMode),
  wideLayout: flag,
  showPercentChange: flag,
  reduceOptions: object<ReduceDataOptions>({ calcs: z.array(text) }),
  percentChangeColorMode: z.enum(PercentChangeColorMode),
  orientation: z.enum(VizOrientation),
});

const timeseriesOptions = object<TimeseriesOptions>({
  legend: object<VizLegendOptions>({
    displayMode: z.enum(LegendDisplayMode),
    placement: z.enum(LegendPlacement),
    showLegend: flag,
    calcs: z.array(text),
  }),
  tooltip: object<VizTooltipOptions>({ mode: z.enum(TooltipDisplayMode), sort: z.enum(SortOrder) }),
});

const panelFields = {
  id: count.min(1),
  title: text,
  description: text,
  transparent: flag,
  repeatDirection: z.literal('h'),
  gridPos: position,
  datasource: source,
  links: z.array(link),
  fieldConfig: z.strictObject({ defaults: fieldConfig, overrides: z.array(z.never()) }),
};

/** A panel without its targets, whose type in the SDK knows no data source. */
type PanelModel = Omit<Panel, 'targets'> & { targets: Data<Dataquery>[] };

const panel = z.union([
  object<PanelModel>({
    ...panelFields,
    type: z.literal('stat'),
    options: statOptions,
    targets: z.array(target).min(1),
  }),
  object<PanelModel>({
    ...panelFields,
    type: z.literal('timeseries'),
    options: timeseriesOptions,
    targets: z.array(target).min(1),
  }),
]);

const row = object<RowPanel>({
  type: z.literal('row'),
  collapsed: flag,
  id: count.min(1),
  title: text,
  gridPos: position,
  panels: z.array(z.never()),
});

const option = object<VariableOption>({
  selected: flag,
  text: z.array(text),
  value: z.array(text),
});

const variable = object<VariableModel>({
  type: z.enum(VariableType),
  name: z.string().regex(/^[a-z]+$/),
  label: text,
  description: text.optional(),
  skipUrlSync: z.literal(false),
  query: z.union([z.string(), z.strictObject({ query: text, refId: text })]),
  datasource: source.optional(),
  current: option.optional(),
  multi: flag,
  allowCustomValue: flag,
  refresh: z.enum(VariableRefresh).optional(),
  sort: z.enum(VariableSort).optional(),
  includeAll: flag,
  allValue: text.optional(),
  auto: flag,
  auto_min: text,
  auto_count: count,
});

type DashboardModel = Omit<Dashboard, 'panels'> & { panels: (PanelModel | RowPanel)[] };

/** The part of Grafana's model of dashboards that ours use, bound to the types of Grafana's SDK. */
export const dashboardModel = object<DashboardModel>({
  // Grafana accepts at most 40 characters.
  uid: z.string().regex(/^[a-z-]{8,40}$/),
  title: text,
  description: text,
  tags: z.array(text),
  timezone: z.enum(['browser', 'utc']),
  editable: flag,
  graphTooltip: z.enum(DashboardCursorSync),
  time: z.strictObject({ from: z.string().regex(/^now-\d+[hd]$/), to: z.literal('now') }),
  fiscalYearStartMonth: count.max(11),
  refresh: z.string().regex(/^\d+[sm]$/),
  schemaVersion: count.min(36),
  panels: z.array(z.union([row, panel])).min(2),
  templating: z.strictObject({ list: z.array(variable).min(1) }),
  annotations: z.strictObject({}),
  links: z.array(link),
});
