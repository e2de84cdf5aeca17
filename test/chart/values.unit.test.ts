import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { DEPLOYABLES } from '#local/processes.ts';
import { isSetByTemplates, VARIABLES } from '../../deploy/chart/schema/variables.ts';
import { CHART, chartSchema, chartServices } from '../../deploy/chart-files.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { type JsonObject, leaves, readChart, schema, schemaAt, schemaPaths, values } from './chart.ts';
import { measuredMemory, wrongRequests } from './sizing.ts';

const PROCESSES = Object.keys(VARIABLES);

const templates = readdirSync(join(CHART, 'templates'), { recursive: true, encoding: 'utf8' })
  .filter((file) => /\.(yaml|tpl|txt)$/.test(file))
  .map((file) => readChart(join('templates', file)))
  .join('\n');

const variablesOf = (name: string) => Object.keys(VARIABLES[name] ?? {});

/** The variables that values may set for a service. */
const configurable = (name: string) => Object.keys(schemaAt(['services', name, 'config'])?.['properties'] ?? {});

test('the table of processes in the chart is that of npm start', () => {
  expect(readChart('files/services.json')).toBe(chartServices(DEPLOYABLES));
  expect(PROCESSES.sort()).toEqual(DEPLOYABLES.map(({ name }) => name).sort());
});

test('the schema of the values is that of the processes; `npm run chart:files` writes it', () => {
  expect(readChart('values.schema.json')).toBe(chartSchema());
});

test('the chart has the version of this code', () => {
  expect(parse(readChart('Chart.yaml'))).toMatchObject({
    appVersion: packageJson.version,
    version: packageJson.version,
  });
});

test('every value is in the schema, and every name in the schema has a value', () => {
  const missing = leaves(values).filter(({ path }) => schemaAt(path) === undefined);
  expect(missing.map(({ path }) => path.join('.'))).toEqual([]);
  const known = leaves(values).map(({ path }) => path.join('.'));
  const surplus = schemaPaths()
    .map((path) => path.join('.'))
    // Settings of a service or of another pod are listed once, under `defaults`.
    .filter((path) => path !== 'global' && !/^services\.\w+\./.test(path))
    .filter(
      (path) => !known.some((name) => name === path.replace(/^(migrate|guildctl|evaluation\.\w+)\./, 'defaults.')),
    )
    .filter((path) => !known.some((name) => name === path || name.startsWith(`${path}.`)))
    // An object that is empty by default, with its comment.
    .filter((path) => !known.some((name) => path.startsWith(`${name}.`)));
  expect(surplus).toEqual([]);
});

test.each(DEPLOYABLES)('$name may override the defaults, and nothing else', ({ name }) => {
  const own = Object.keys(schemaAt(['services', name])?.['properties'] ?? {});
  expect(own.sort()).toEqual(Object.keys(schemaAt(['defaults'])?.['properties'] ?? {}).sort());
});

test('every object of the schema rejects unknown names', () => {
  const open: string[] = [];
  const walk = (at: unknown, path: string): void => {
    if (typeof at !== 'object' || at === null) return;
    const here = at as Record<string, unknown>;
    if ('properties' in here && path !== '' && here['additionalProperties'] !== false) open.push(path);
    for (const [name, inner] of Object.entries(here)) walk(inner, `${path}/${name}`);
  };
  walk(schema, '');
  expect(open).toEqual([]);
  expect(schema['additionalProperties']).toBe(false);
  expect(schema['patternProperties']).toEqual({ '^x-': {} });
});

test('every value, or the object that contains it, is used in a template', () => {
  const isNamed = (name: string) => new RegExp(`\\b${name}\\b`).test(templates);
  const unused = leaves(values).filter(({ path }) => !path.slice(-2).some(isNamed));
  // Templates iterate over the services in files/services.json.
  expect(unused.map(({ path }) => path.join('.')).filter((path) => !path.startsWith('services.'))).toEqual([]);
});

test.each(PROCESSES)('values may set each variable of %s that no template sets, and no other', (name) => {
  // Node itself reads NODE_OPTIONS.
  const free = [...variablesOf(name).filter((variable) => !isSetByTemplates(variable)), 'NODE_OPTIONS'];
  expect(configurable(name).sort()).toEqual(free.sort());
});

test('the requests for memory cover what is measured, and are below the limits', () => {
  type Resources = { requests?: JsonObject; limits?: JsonObject };
  type Settings = { resources?: Resources };
  const { resources: ofAll } = values['defaults'] as Settings;
  const own = values['services'] as Record<string, Settings>;
  const memoryOf = (name: string) => ({
    request: own[name]?.resources?.requests?.['memory'] ?? ofAll?.requests?.['memory'],
    limit: own[name]?.resources?.limits?.['memory'] ?? ofAll?.limits?.['memory'],
  });
  expect([...measuredMemory().keys()].sort()).toEqual(DEPLOYABLES.map(({ name }) => name).sort());
  expect(wrongRequests(memoryOf)).toEqual([]);
  const tooSmall = (name: string) => ({ ...memoryOf(name), ...(name === 'gateway' && { request: '192Mi' }) });
  expect(wrongRequests(tooSmall)).toEqual(['gateway uses 213 MiB, requests 192Mi of 512Mi']);
});

test('a ratio is a number, or text, as `helm --set` passes it on', () => {
  const text = { type: 'string', pattern: expect.any(String) };
  const ratio = { anyOf: [{ type: 'number', minimum: 0, maximum: 1 }, text] };
  expect(schemaAt(['services', 'gateway', 'config', 'ACCESS_LOG_SAMPLE_RATIO'])).toEqual(ratio);
  expect(schemaAt(['tracing', 'sampleRatio'])).toEqual(ratio);
});

test('no template gives a process a root secret', () => {
  expect(templates).not.toMatch(/INTERNAL_SECRETS|ADMIN_SECRETS|internal-secrets|admin-secrets/);
});

test('no variable can be set by both a template and a value', () => {
  const names = DEPLOYABLES.flatMap(({ name }) => configurable(name));
  const isSet = (name: string) => templates.includes(`name: ${name}\n`);
  // A default of the chart, which a value replaces.
  const isDefault = (name: string) => templates.includes(`(not (hasKey .settings.config "${name}"))`);
  expect(names.filter((name) => isSet(name) && !isDefault(name))).toEqual([]);
});
