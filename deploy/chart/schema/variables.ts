import { z } from 'zod';
import { gatewayVariables } from '#gateway/config.ts';
import { databaseConfig, grpcConfig, processConfig } from '#kit/service/config.ts';
import { activityVariables } from '#services/activity/config.ts';
import { authVariables } from '#services/auth/config.ts';
import { bindingsVariables } from '#services/bindings/config.ts';
import { consoleVariables } from '#services/console/config.ts';
import { eventsVariables } from '#services/events/config.ts';
import { lookupVariables } from '#services/lookup/config.ts';
import { membersVariables } from '#services/members/config.ts';
import { moderationVariables } from '#services/moderation/config.ts';
import { migrateVariables } from '../../migrate.ts';
import { group, type JsonSchema, json } from './build.ts';

/** The environment variables of each process, as the process itself declares them. */
export const VARIABLES: Readonly<Record<string, z.ZodRawShape>> = {
  gateway: gatewayVariables,
  auth: authVariables,
  lookup: lookupVariables,
  bindings: bindingsVariables,
  members: membersVariables,
  activity: activityVariables,
  moderation: moderationVariables,
  events: eventsVariables,
  console: consoleVariables,
};

/** Node itself reads this variable. */
const NODE_VARIABLE = 'NODE_OPTIONS';

/** The variables that the templates set, from secrets and from values on which several processes must agree. */
const SET_BY_TEMPLATES = [
  /^(?:ADMIN|CHAT(?!_GATEWAY_|_MIRROR_)|CONSOLE|DATABASE|GAME|INTERNAL|OIDC|OTEL|PLATFORMS|REDIS|TRACING|WEBHOOKS)_/,
  /_(?:GRPC_ADDRESS|HTTP_URL|PORT|REPLICAS)$/,
  /^(?:DRAIN_DELAY_SECONDS|LOG_LEVEL|PUBLIC_URL|STOP_SECONDS|TRUSTED_PROXIES)$/,
];

/** True for a variable that `config` of a service may not set, because a template does. */
export const isSetByTemplates = (variable: string) => SET_BY_TEMPLATES.some((pattern) => pattern.test(variable));

/**
 * The variables that the program of a component reads. `extraEnv` may not set them, because `config` or a template does, or
 * because the chart does not support what they do, such as CITUS.
 */
export const variablesOf = (component: string): string[] => {
  if (component === 'migrate') return Object.keys(migrateVariables);
  if (component === 'guildctl') return Object.keys(processConfig).filter((name) => name.startsWith('INTERNAL_TLS_'));
  return [...Object.keys(VARIABLES[component] ?? {}), NODE_VARIABLE];
};

/** Returns the schema of a value with the type and the bounds of a variable. */
export function valueOf(variable: unknown): z.ZodType {
  return json(valueSchema(variable as z.ZodType));
}

/** Returns the schema of an item of a variable that is a list. */
export const itemOf = (variable: unknown): z.ZodType => json(itemSchema(variable));

/** The JSON Schema of an item of a variable that is a list. */
export const itemSchema = (variable: unknown) => outputOf(variable as z.ZodType)['items'] as JsonSchema;

function valueSchema(variable: z.ZodType): JsonSchema {
  const read = outputOf(variable);
  const given = withoutDefault(z.toJSONSchema(variable, { target: 'draft-07', io: 'input' }));
  if (read['type'] === 'integer') return read;
  // `helm --set` passes on a fraction as a string.
  if (read['type'] === 'number') return { anyOf: [read, given] };
  if (read['type'] === 'array') return { type: 'string', pattern: joined(read['items'] as JsonSchema) };
  const isFlag = Array.isArray(given['enum']) && given['enum'].includes('true');
  return isFlag ? { type: 'boolean' } : given;
}

/** The JSON Schema of what a process reads from a variable. */
const outputOf = (variable: z.ZodType) =>
  withoutDefault(z.toJSONSchema(variable, { target: 'draft-07', io: 'output', unrepresentable: 'any' }));

function withoutDefault(schema: JsonSchema): JsonSchema {
  const { $schema: _, default: __, ...rest } = schema;
  return rest;
}

/** The pattern of a list that is separated by commas. */
function joined({ pattern }: JsonSchema): string {
  const item = ` *(?:${String(pattern).replace(/^\^|\$$/g, '')})? *`;
  return `^${item}(?:,${item})*$`;
}

/** The schema of `config`: the variables that no template sets, and that of Node. */
function configOf(variables: z.ZodRawShape) {
  const settable = Object.entries(variables).filter(([name]) => !isSetByTemplates(name));
  const schemas = settable.map(([name, variable]) => [name, valueOf(variable)]);
  return group({ ...Object.fromEntries(schemas), [NODE_VARIABLE]: z.string() });
}

export const configOfService = (service: string) => configOf(VARIABLES[service] ?? {});
/** The variables that services share. */
export const configOfAll = configOf({ ...processConfig, ...databaseConfig, ...grpcConfig });
