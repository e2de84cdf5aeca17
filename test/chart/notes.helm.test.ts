import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CHART } from '../../deploy/chart-files.ts';
import { type ApiServer, startApiServer } from './api-server.ts';
import { type Json, type JsonObject, valueSet } from './chart.ts';
import { helms, type Manifest, render, runHelm } from './helm.ts';
import { EVALUATION } from './manifests.ts';

let server: ApiServer;
beforeAll(async () => {
  server = await startApiServer();
});
afterAll(() => server.stop());

type Options = { values?: Json; files?: readonly string[] };

/** What Helm prints after an installation. */
async function notesWith({ values = {}, files = [] }: Options, helm: string): Promise<string> {
  const words = ['install', 'guild', CHART, '--namespace', 'guild-data', '--dry-run=client'];
  // Helm 3 asks the Kubernetes API server for its version even with --dry-run=client.
  words.push('--kubeconfig', server.kubeconfig, '--disable-openapi-validation');
  words.push(...files.flatMap((file) => ['--values', file]), '--values', '-');
  const [, notes = ''] = (await runHelm(words, helm, JSON.stringify(values))).split(/^NOTES:$/m);
  expect(notes).not.toBe('');
  return notes;
}

/** What the kubectl commands of a text name: `deploy/NAME`, or `service/NAME` with a port. */
function targetsIn(text: string): string[] {
  const targets: string[] = [];
  for (const [, namespace, command = ''] of text.matchAll(/kubectl -n (\S+) (.*)$/gm)) {
    expect(namespace).toBe('guild-data');
    const [, target = '', rest = ''] = /(deploy\/\S+|service\/\S+)(.*)$/.exec(command) ?? [];
    expect([command, target]).not.toEqual([command, '']);
    const ports = target.startsWith('service/') ? [...rest.matchAll(/(?:\d+:)?(\d+)/g)].map(([, port]) => port) : [];
    targets.push(...(ports.length === 0 ? [target] : ports.map((port) => `${target}:${port}`)));
  }
  return targets;
}

/** What kubectl can reach: each Deployment, and each port of each Service. */
function targetsOf(all: readonly Manifest[]): string[] {
  return all.flatMap(({ kind, metadata, spec }) => {
    if (kind === 'Deployment') return [`deploy/${metadata.name}`];
    if (kind !== 'Service') return [];
    return (spec.ports as { port: number }[]).map(({ port }) => `service/${metadata.name}:${port}`);
  });
}

/** Those whose objects are all of kinds that the server of this test knows. */
const VALUE_SETS = ['evaluation', 'evaluation-console', 'evaluation-storage', 'extensions', 'small'];
const WITHOUT_GUILDCTL = { guildctl: { enabled: false } };

describe.each(helms())('the notes of %s', (helm) => {
  test.each(VALUE_SETS)('with the values %s name only objects of the release', async (name) => {
    const options = { files: [valueSet(name)] };
    const named = targetsIn(await notesWith(options, helm));
    const existing = targetsOf(await render({ ...options, helm }));
    expect(named.length).toBeGreaterThan(1);
    expect(named.filter((target) => !existing.includes(target))).toEqual([]);
  });

  test.each<JsonObject>([{}, { console: { enabled: true } }])(
    'without guildctl say that it is needed, and do not call it, with %j',
    async (more) => {
      const notes = await notesWith({ values: { ...EVALUATION, ...WITHOUT_GUILDCTL, ...more } }, helm);
      expect(notes).toContain('guildctl.enabled is false');
      expect(notes).not.toContain('guildctl.js');
      expect(targetsIn(notes)).toContain('service/guild-guild-data-gateway:80');
    },
  );
});
