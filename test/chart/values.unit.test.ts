import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { readGatewayConfig } from '#gateway/config.ts';
import type { Environment } from '#kit/service/config.ts';
import { DEPLOYABLES } from '#local/processes.ts';
import { readActivityConfig } from '#services/activity/config.ts';
import { readAuthConfig } from '#services/auth/config.ts';
import { readBindingsConfig } from '#services/bindings/config.ts';
import { readEventsConfig } from '#services/events/config.ts';
import { readLookupConfig } from '#services/lookup/config.ts';
import { readMembersConfig } from '#services/members/config.ts';
import { readModerationConfig } from '#services/moderation/config.ts';
import { CHART, chartServices } from '../../deploy/chart-files.ts';
import packageJson from '../../package.json' with { type: 'json' };
import { leaves, readChart, schema, schemaAt, schemaPaths, values } from './chart.ts';

const CONFIGS: Record<string, (environment: Environment) => unknown> = {
  gateway: readGatewayConfig,
  auth: readAuthConfig,
  lookup: readLookupConfig,
  bindings: readBindingsConfig,
  members: readMembersConfig,
  activity: readActivityConfig,
  moderation: readModerationConfig,
  events: readEventsConfig,
};

const templates = readdirSync(join(CHART, 'templates'), { recursive: true, encoding: 'utf8' })
  .filter((file) => /\.(yaml|tpl|txt)$/.test(file))
  .map((file) => readChart(join('templates', file)))
  .join('\n');

/** Variables that are read only to reject them: no process that serves requests may have them. */
const ROOTS = ['INTERNAL_SECRETS', 'ADMIN_SECRETS'];

/** The variables that a service reads. */
function variablesOf(name: string): string[] {
  const read = new Set<string>();
  const noted = new Proxy<Environment>({}, { get: (_, variable) => void read.add(String(variable)) });
  expect(() => CONFIGS[name]?.(noted)).toThrow('error(s)');
  return [...read].filter((variable) => !ROOTS.includes(variable));
}

/** The variables that values may set for a service. */
const configurable = (name: string) => Object.keys(schemaAt(['services', name, 'config'])?.['properties'] ?? {});

test('the table of processes in the chart is that of npm start', () => {
  expect(readChart('files/services.json')).toBe(chartServices(DEPLOYABLES));
  expect(Object.keys(CONFIGS).sort()).toEqual(DEPLOYABLES.map(({ name }) => name).sort());
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
    // Settings of a service are listed once, under `defaults`.
    .filter((path) => path !== 'global' && !/^services\.\w+\./.test(path))
    .filter((path) => !known.some((name) => name === path || name.startsWith(`${path}.`)));
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

test.each(Object.keys(CONFIGS))(
  'every variable that %s reads is set by a template or by services.<name>.config of values.schema.json',
  (name) => {
    const byNetwork = /_(GRPC_ADDRESS|HTTP_URL)$|^GAME_\w+_URL$|^(PUBLIC|HTTP|GRPC|GATEWAY)_(PORT|URL)$/;
    const settable = configurable(name);
    const unset = variablesOf(name).filter(
      (variable) =>
        !settable.includes(variable) && !byNetwork.test(variable) && !new RegExp(`\\b${variable}\\b`).test(templates),
    );
    expect(unset).toEqual([]);
  },
);

test.each(Object.keys(CONFIGS))('%s reads every variable that values may set for it', (name) => {
  // Read by Node itself.
  const known = [...variablesOf(name), 'NODE_OPTIONS'];
  expect(configurable(name).filter((variable) => !known.includes(variable))).toEqual([]);
});

test('no template gives a process a root secret', () => {
  expect(templates).not.toMatch(/INTERNAL_SECRETS|ADMIN_SECRETS|internal-secrets|admin-secrets/);
});

test('no variable can be set by both a template and a value', () => {
  const names = DEPLOYABLES.flatMap(({ name }) => configurable(name));
  expect(names.filter((name) => templates.includes(`name: ${name}\n`))).toEqual([]);
});

type Compose = { services: Record<string, { command?: string[]; environment?: Record<string, string> }> };

/** The secrets and server addresses that a process gets. */
const HELD = {
  database: 'DATABASE_URL',
  redis: 'REDIS_URL',
  platforms: 'CHAT_BOT_TOKEN',
  webhooks: 'WEBHOOKS_ALLOW_HTTP',
} as const;

test.each(DEPLOYABLES)('docker-compose.yml gives $name exactly the secrets that it needs', (deployable) => {
  const { name, main, calls, proxies, holds } = deployable;
  const text = readFileSync(join(import.meta.dirname, '../../docker-compose.yml'), 'utf8');
  const { command, environment = {} } = (parse(text, { merge: true }) as Compose).services[name] ?? {};
  const given = Object.keys(environment);
  const needed = calls.map((peer) => `${peer.toUpperCase()}_GRPC_ADDRESS`);
  needed.push(...proxies.map((peer) => `${peer.toUpperCase()}_HTTP_URL`), 'INTERNAL_KEYS', 'ADMIN_PORT', 'ADMIN_HOST');
  const held = Object.values(HELD).filter((variable) => given.includes(variable));
  expect(command).toEqual([main]);
  expect(given).toEqual(expect.arrayContaining(needed));
  expect(held.sort()).toEqual(
    holds
      .filter((one) => one !== 'admin')
      .map((one) => HELD[one])
      .sort(),
  );
  expect(environment['INTERNAL_KEYS']).toMatch(new RegExp(`^\\$\\{${name.toUpperCase()}_INTERNAL_KEYS:\\?`));
  expect(Object.values(environment).filter((value) => value.includes('_SECRETS'))).toEqual([]);
  expect(given.filter((variable) => !variablesOf(name).includes(variable))).toEqual([]);
});
