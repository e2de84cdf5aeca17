import { expect, test } from 'vitest';
import { PROCESSES } from '#proto/processes.ts';
import { ROUTES } from '#proto/rest/index.ts';
import { CODE, isOfTests, SERVICES, SOURCES, type Source, serviceOf } from './sources.ts';

/** The services that each process calls over gRPC; guildctl (services/cli) may call any. */
const CALLS: Record<string, string[]> = {
  gateway: ['auth'],
  auth: ['lookup', 'bindings', 'members', 'activity', 'moderation', 'events'],
  lookup: ['events'],
  bindings: ['lookup', 'events'],
  members: ['lookup', 'bindings', 'events'],
  activity: ['lookup', 'members', 'events'],
  moderation: ['lookup', 'members', 'activity', 'events'],
  events: [],
  console: ['auth'],
};

const isCode = (target: string) => /^(?:proto|services|gateway|deploy|test)\//.test(target);

/** `path -> target` of every import by these files that is not allowed. */
function forbidden(files: readonly Source[], isAllowed: (target: string, source: Source) => boolean): string[] {
  return files.flatMap((source) =>
    source.imports
      .filter(({ target }) => !isAllowed(target, source))
      .map(({ target }) => `${source.path} -> ${target}`),
  );
}

const below = (...folders: string[]) => CODE.filter(({ path }) => folders.some((folder) => path.startsWith(folder)));
const isBelow = (target: string, ...folders: string[]) => folders.some((folder) => target.startsWith(folder));

test('imports are found and lead to existing files', () => {
  const paths = new Set(SOURCES.map(({ path }) => path));
  const dangling = forbidden(SOURCES, (target) => !isCode(target) || paths.has(target) || target.endsWith('.json'));
  expect(dangling).toEqual([]);
  const { imports } = SOURCES.find(({ path }) => path === 'services/kit/http/app.ts') as Source;
  expect(imports).toContainEqual({ target: 'proto/rest/route.ts', isType: false });
  expect(imports).toContainEqual({ target: 'services/kit/telemetry/log.ts', isType: true });
  const app = SOURCES.find(({ path }) => path === 'services/console/http/app.ts') as Source;
  expect(app.imports).toContainEqual({ target: 'express', isType: false });
});

test('the contracts import no code outside proto', () => {
  expect(forbidden(below('proto/'), (target) => isBelow(target, 'proto/') || !isCode(target))).toEqual([]);
});

test('the kit imports no service, and of proto only what all services share', () => {
  const contracts = [
    'route',
    'schemas',
    'scopes',
    'messages',
    'events/index',
    'events/audit',
    'retained-kinds',
    'guild-checks',
    'guild-state',
  ]
    .map((name) => `proto/rest/${name}.ts`)
    .concat(
      'proto/processes.ts',
      'proto/console/roles.ts',
      'proto/rest/limits.ts',
      'proto/gen/guild/events/v1/events.ts',
      'proto/gen/guild/members/v1/settings.ts',
      'proto/gen/grpc/health/v1/health.ts',
    );
  const isAllowed = (target: string) => isBelow(target, 'services/kit/', ...contracts) || !isCode(target);
  expect(forbidden(below('services/kit/'), isAllowed)).toEqual([]);
});

test('the kit names no route and no table of a service', () => {
  const names = ROUTES.map(({ name }) => name).join('|');
  const tables = Object.keys(CALLS).join('|');
  // A quoted name of a route, or a statement's `schema.table`.
  const word = new RegExp(`['"\`](?:${names})['"\`]|\\b(?:FROM|INTO|UPDATE|TABLE|JOIN)\\s+(?:${tables})\\.`);
  expect(
    below('services/kit/')
      .filter(({ text }) => word.test(text))
      .map(({ path }) => path),
  ).toEqual([]);
});

test('the platform connectors import no service', () => {
  const isAllowed = (target: string) => isBelow(target, 'services/platforms/', 'services/kit/') || !isCode(target);
  expect(forbidden(below('services/platforms/'), isAllowed)).toEqual([]);
});

test('no service imports another', () => {
  const services = CODE.filter(({ path }) => SERVICES.includes(serviceOf(path) ?? ''));
  const isAllowed = (target: string, { path }: Source) =>
    isBelow(target, `services/${serviceOf(path)}/`, 'services/kit/', 'services/platforms/', 'proto/') ||
    !isCode(target);
  expect(forbidden(services, isAllowed)).toEqual([]);
});

test('the gateway imports only itself, the kit and proto', () => {
  const isAllowed = (target: string) => isBelow(target, 'gateway/', 'services/kit/', 'proto/') || !isCode(target);
  expect(forbidden(below('gateway/'), isAllowed)).toEqual([]);
});

test('guildctl imports only itself, the kit, the platform connectors and proto', () => {
  const folders = ['services/cli/', 'services/kit/', 'services/platforms/', 'proto/'];
  const isAllowed = (target: string) => isBelow(target, ...folders) || !isCode(target);
  expect(forbidden(below('services/cli/'), isAllowed)).toEqual([]);
});

test('domain code imports no transport and no database driver', () => {
  const domain = CODE.filter(({ path }) => /^services\/[^/]+\/domain(?:\.ts$|\/)/.test(path));
  const transports = /^(?:express|pg|ioredis|@grpc\/.*|node:(?:http|https|http2|net))$/;
  expect(forbidden(domain, (target) => !transports.test(target))).toEqual([]);
});

test('domain and store code imports nothing from the http and grpc folders of its service', () => {
  const inner = CODE.filter(({ path }) => /^services\/[^/]+\/(?:domain|store)\//.test(path));
  const outer = /^services\/(?!kit\/)[^/]+\/(?:http|grpc)\//;
  expect(forbidden(inner, (target) => !outer.test(target))).toEqual([]);
});

test('code of tests is recognisable by its name, and only tests import it', () => {
  expect(forbidden(CODE, (target) => !/^vitest(?:\/|$)/.test(target))).toEqual([]);
  expect(forbidden(CODE, (target) => !isCode(target) || !isOfTests(target))).toEqual([]);
});

/** The relay of events and its set-up are a part of each service that records events. */
const RELAY = ['services/kit/events/relay.ts', 'services/kit/events/event-queue.ts'];

/** The services whose generated code a file uses. */
const calledBy = ({ imports }: Source) =>
  imports.flatMap(({ target }) => /^proto\/gen\/guild\/([^/]+)\//.exec(target)?.[1] ?? []);

test('services call each other over gRPC only as CALLS lists', () => {
  // Auth decodes operators' requests to other services, but calls none.
  // The reader of settings gets a function that calls members.
  const others = ['services/auth/domain/operators/roles.ts', 'services/kit/guild-settings/reader.ts', ...RELAY];
  const callers = CODE.filter(
    ({ path }) => serviceOf(path) !== 'cli' && !path.startsWith('deploy/') && !others.includes(path),
  );
  const wrong = callers.flatMap((source) => {
    const caller = serviceOf(source.path) ?? source.path.split('/')[0] ?? '';
    const called = calledBy(source).filter((name) => name !== caller && name !== 'common');
    return called.filter((name) => !CALLS[caller]?.includes(name)).map((name) => `${source.path} calls ${name}`);
  });
  expect(wrong).toEqual([]);
  expect(SERVICES.filter((name) => !(name in CALLS))).toEqual([]);
});

test('the table of processes matches CALLS', () => {
  const table = Object.entries(PROCESSES).map(([name, { calls }]) => [name, [...calls]]);
  expect(Object.fromEntries(table)).toEqual(CALLS);
});

test('the calls between services have no cycle', () => {
  const reaches = (from: string, to: string): boolean =>
    (CALLS[from] ?? []).some((next) => next === to || reaches(next, to));
  expect(Object.keys(CALLS).filter((name) => reaches(name, name))).toEqual([]);
});
