import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { stringify } from 'yaml';
import { VALUE_SETS, valueSet } from '#test/chart/chart.ts';
import { helms, render } from '#test/chart/helm.ts';
import { program, run } from './kubectl.ts';
import { labFolder } from './lab.ts';

/** Kinds that a plain cluster lacks: those of cert-manager, the Gateway API, OpenShift and the Prometheus operator. */
const FOREIGN = 'Certificate,HTTPRoute,PrometheusRule,Route,ServiceMonitor';

/** Validates the output of every value set strictly with the schemas of the running API server; returns kubeconform's output. */
export async function checkSchemas(): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'guild-data-schemas-'));
  try {
    process.env['KUBECTL'] = program('kubectl');
    const derived = await run(process.execPath, [join(labFolder(), 'openapi2schemas.mjs'), folder]);
    const version = /^v([0-9.]+)/.exec(derived)?.[1] ?? '';
    const files: string[] = [];
    for (const name of VALUE_SETS) {
      for (const [index, helm] of helms().entries()) {
        const file = join(folder, `${name}-${index}.yaml`);
        const rendered = await render({ files: [valueSet(name)], helm, kubernetes: version });
        writeFileSync(file, rendered.map((manifest) => stringify(manifest)).join('---\n'));
        files.push(file);
      }
    }
    const where = '{{.NormalizedKubernetesVersion}}-standalone{{.StrictSuffix}}/{{.ResourceKind}}{{.KindSuffix}}.json';
    const words = ['-strict', '-summary', '-kubernetes-version', version, '-skip', FOREIGN];
    return (await run(program('kubeconform'), [...words, '-schema-location', join(folder, where), ...files])).trim();
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
