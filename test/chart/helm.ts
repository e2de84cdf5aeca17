import { execFile } from 'node:child_process';
import { delimiter } from 'node:path';
import { promisify } from 'node:util';
import { parseAllDocuments } from 'yaml';
import { findProgram } from '#local/child.ts';
import { CHART } from '../../deploy/chart-files.ts';
import type { Json, JsonObject } from './chart.ts';

/** The supported Kubernetes versions. */
export const KUBERNETES = ['1.31.0', '1.32.0', '1.33.0', '1.34.0', '1.35.0', '1.36.0', '1.37.0'] as const;
const NEWEST = KUBERNETES[KUBERNETES.length - 1] as string;

export type Manifest = {
  apiVersion: string;
  kind: string;
  metadata: { name: string; labels?: Record<string, string>; annotations?: Record<string, string> };
  // oxlint-disable-next-line typescript/no-explicit-any -- tests read arbitrary manifests
  [part: string]: any;
};

/** The path of a program in LAB_BIN or on PATH; undefined if there is none. */
export const labProgram = (name: string) =>
  findProgram(name, [process.env['LAB_BIN'] ?? '', process.env['PATH'] ?? ''].join(delimiter));

/** The installed Helm programs: `helm`, and `helm3` if both major versions are installed. */
export function helms(): string[] {
  const found = ['helm', 'helm3'].map(labProgram).filter((path) => path !== undefined);
  if (found.length === 0) throw new Error('helm is neither in LAB_BIN nor on PATH');
  return found;
}

/** Runs Helm and returns its output; throws its error output if it fails. `input` is its standard input. */
export async function runHelm(words: readonly string[], helm = helms()[0] as string, input = ''): Promise<string> {
  const running = promisify(execFile)(helm, words, { maxBuffer: 1 << 26 });
  running.child.stdin?.on('error', () => undefined).end(input);
  return (await running).stdout;
}

/** `values` override those of the files. */
export type RenderOptions = {
  values?: Json;
  files?: readonly string[];
  kubernetes?: string;
  helm?: string;
  /** KUBECONFIG of a cluster in which templates look up installed objects. */
  kubeconfig?: string;
};

/** Renders the chart; sorted by kind and name. */
export async function render({
  values,
  files = [],
  kubernetes = NEWEST,
  helm,
  kubeconfig,
}: RenderOptions): Promise<Manifest[]> {
  const words = ['template', 'guild', CHART, '--namespace', 'guild-data', '--kube-version', kubernetes];
  if (kubeconfig !== undefined)
    words.push('--dry-run=server', '--disable-openapi-validation', '--kubeconfig', kubeconfig);
  words.push(...files.flatMap((file) => ['--values', file]), '--values', '-');
  return manifests(await runHelm(words, helm, JSON.stringify(values ?? {})));
}

export function manifests(text: string): Manifest[] {
  const documents = parseAllDocuments(text, { merge: true });
  // Such as a name that is twice in one object.
  for (const { errors } of documents) if (errors[0] !== undefined) throw errors[0];
  const found = documents.map((document) => document.toJS() as Manifest | null).filter((one) => one !== null);
  const key = ({ kind, metadata }: Manifest) => `${kind} ${metadata.name}`;
  return found.sort((one, other) => (key(one) < key(other) ? -1 : 1));
}

/** The pod specs of a manifest. */
export function podsOf({ kind, spec }: Manifest): JsonObject[] {
  if (kind === 'Pod') return [spec as JsonObject];
  const template = (spec as { template?: { spec: JsonObject } } | undefined)?.template;
  return template === undefined ? [] : [template.spec];
}
