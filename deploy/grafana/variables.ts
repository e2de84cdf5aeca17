import {
  DatasourceVariableBuilder,
  QueryVariableBuilder,
  TextBoxVariableBuilder,
  VariableRefresh,
  VariableSort,
} from '@grafana/grafana-foundation-sdk/dashboard';

/** The data source that the reader of a dashboard chooses. */
export const SOURCE = { type: 'prometheus', uid: '${datasource}' };

const PROCESSES = 'job=~"guild-data/.+"';

/** The variables of a dashboard. `jobs` is a regular expression of the jobs to choose from; undefined for no such variable. */
export function variablesOf(jobs: string | undefined) {
  const installation = [
    queryVariable({ name: 'cluster', label: 'Cluster', among: PROCESSES, all: '.*' }),
    queryVariable({ name: 'namespace', label: 'Namespace', among: `${PROCESSES},cluster=~"$cluster"`, all: '.*' }),
    queryVariable({
      name: 'release',
      label: 'Release',
      among: `${PROCESSES},cluster=~"$cluster",namespace=~"$namespace"`,
      all: '.*',
    }),
  ];
  const among = `job=~"${jobs}",cluster=~"$cluster",namespace=~"$namespace",release=~"$release"`;
  return [
    new DatasourceVariableBuilder('datasource').label('Data source').type('prometheus'),
    ...installation,
    ...(jobs === undefined ? [] : [queryVariable({ name: 'job', label: 'Service', among, all: jobs })]),
    new TextBoxVariableBuilder('runbooks')
      .label('Runbooks at')
      .description('URL of the files of this repository, with a trailing slash, for links to runbooks')
      .defaultValue(''),
  ];
}

interface QueryVariable {
  /** Also the label whose values can be chosen. */
  name: string;
  label: string;
  /** The matchers of the processes whose labels can be chosen. */
  among: string;
  /** The regular expression for "All". `.*` also matches series without the label. */
  all: string;
}

const queryVariable = ({ name, label, among, all }: QueryVariable) =>
  new QueryVariableBuilder(name)
    .label(label)
    .datasource(SOURCE)
    .query({ query: `label_values(up{${among}}, ${name})`, refId: name })
    .refresh(VariableRefresh.OnTimeRangeChanged)
    .sort(VariableSort.AlphabeticalAsc)
    .multi(true)
    .includeAll(true)
    .allValue(all)
    .current({ selected: true, text: ['All'], value: ['$__all'] });
