import { ProcessKeys } from '#kit/security/keyring.ts';
import type { Environment } from '#kit/service/config.ts';
import { testKeys } from '#test/system/keys.ts';
import { READERS } from '#test/system/process-configs.ts';
import type { JsonObject } from './chart.ts';
import { type Manifest, podsOf } from './helm.ts';

/** What is in the Secrets of the user, by variable. */
const SECRETS: Readonly<Record<string, string>> = {
  INTERNAL_KEYS: testKeys(),
  PGPASSWORD: 'password',
  DATABASE_HOST: 'database.example',
  DATABASE_PORT: '5432',
  DATABASE_NAME: 'app',
  DATABASE_USER: 'role',
  REDIS_URL: 'rediss://:password@redis.example:6379/0',
  CHAT_BOT_TOKEN: 'token',
  GAME_API_KEY: 'key',
  CHAT_OAUTH_CLIENT_SECRET: 'secret',
  OIDC_CLIENT_SECRET: 'secret',
  OTEL_EXPORTER_OTLP_HEADERS: 'authorization=Bearer%20token',
  WEBHOOKS_PROXY: 'http://user:password@proxy.example:3128',
  PLATFORMS_PROXY: 'http://user:password@proxy.example:3128',
};

type Variable = { name: string; value?: string; valueFrom?: { secretKeyRef: { name: string; key: string } } };
export type Container = JsonObject & {
  name: string;
  env: Variable[];
  ports: { name: string; containerPort: number }[];
};

export const componentOf = ({ metadata }: Manifest) => metadata.labels?.['app.kubernetes.io/component'] ?? '';

export const ofKind = (all: readonly Manifest[], kind: string, component?: string): Manifest[] =>
  all.filter((one) => one.kind === kind && (component === undefined || componentOf(one) === component));

/** The container of a process; undefined if the release has no such process. */
export function containerOf(all: readonly Manifest[], process: string): Container | undefined {
  const [pod] = ofKind(all, 'Deployment', process).flatMap(podsOf);
  return (pod?.['containers'] as Container[] | undefined)?.find(({ name }) => name === process);
}

/** The environment of a container as Kubernetes sets it: with secrets, and with $(NAME) replaced by earlier variables. */
export function environmentOf({ env }: Container): Record<string, string> {
  const environment: Record<string, string> = {};
  for (const { name, value, valueFrom } of env) {
    if (name in environment) throw new Error(`${name} is set twice`);
    const secret = valueFrom && SECRETS[name];
    if (valueFrom && secret === undefined) throw new Error(`no test value for the secret ${name}`);
    environment[name] =
      secret ?? (value ?? '').replace(/\$\((\w+)\)/g, (all, other: string) => environment[other] ?? all);
  }
  return environment;
}

/** A comparable form of a configuration: keys are secrets of the test. */
export const readAs = (process: string, environment: Environment): Record<string, unknown> => {
  const read = READERS[process];
  if (!read) throw new Error(`no reader for ${process}`);
  return Object.fromEntries(Object.entries(read(environment)).filter(([, value]) => !(value instanceof ProcessKeys)));
};
