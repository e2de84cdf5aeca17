import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { parse } from 'yaml';
import { pathOf } from '#kit/files.ts';

export const COMPOSE_FILE = pathOf('docker-compose.yml');

/** The parts of a service that tests look at. */
export interface ComposeService {
  image?: string;
  build?: { context: string; dockerfile: string };
  command?: string[];
  environment?: Record<string, string>;
  extends?: { file: string; service: string };
  profiles?: string[];
  ports?: string[];
  depends_on?: Record<string, { condition: string }>;
  networks?: string[];
  mem_limit?: string;
  pids_limit?: number;
  cpus?: number;
  logging?: { driver: string; options: Record<string, string> };
  healthcheck?: { test?: string[]; disable?: boolean };
}

export interface ComposeProject {
  services: Record<string, ComposeService>;
}

/** A variable of docker-compose.yml without a value that it requires. */
export class MissingVariable extends Error {}

/**
 * Reads docker-compose.yml as Compose does: merge keys, `extends` and variables. It knows the forms of variables that both
 * versions of Compose know, and rejects all others.
 */
export function readProject(variables: Record<string, string>): ComposeProject {
  const { services } = readFile(COMPOSE_FILE, variables);
  return {
    services: Object.fromEntries(
      Object.entries(services).map(([name, service]) => [name, extended(service, variables)] as const),
    ),
  };
}

/** The names of all variables that docker-compose.yml requires, with each of the platforms. */
export function requiredVariables(platforms: string): string[] {
  const names = new Set<string>();
  for (const file of [COMPOSE_FILE, pathOf(`deploy/docker/platforms/${platforms}.yml`)]) {
    for (const [, name = ''] of readFileSync(file, 'utf8').matchAll(/\$\{(\w+):\?/g)) names.add(name);
  }
  return [...names].toSorted();
}

function readFile(path: string, variables: Record<string, string>): ComposeProject {
  const { services } = parse(readFileSync(path, 'utf8'), { merge: true }) as ComposeProject;
  return { services: interpolated(services, variables) as ComposeProject['services'] };
}

/** The service with what it extends; its own settings win. */
function extended(service: ComposeService, variables: Record<string, string>): ComposeService {
  if (!service.extends) return service;
  const { extends: base, ...own } = service;
  const path = join(dirname(COMPOSE_FILE), base.file);
  const { services } = readFile(path, variables);
  const parent = services[base.service];
  if (!parent) throw new Error(`${base.file} has no service ${base.service}`);
  return { ...parent, ...own, environment: { ...parent.environment, ...own.environment } };
}

function interpolated(value: unknown, variables: Record<string, string>): unknown {
  if (typeof value === 'string') return interpolate(value, variables);
  if (Array.isArray(value)) return value.map((item) => interpolated(item, variables));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, interpolated(inner, variables)]));
}

const VARIABLE = /\$(?:(?<escaped>\$)|\{(?<name>\w+)(?:(?<kind>:-|:\?)(?<rest>[^{}]*))?\}|(?<other>.?))/g;

function interpolate(text: string, variables: Record<string, string>): string {
  return text.replaceAll(VARIABLE, (...parts) => {
    const { escaped, name, kind, rest } = parts.at(-1) as Record<string, string | undefined>;
    if (escaped) return '$';
    if (name === undefined) throw new Error(`both versions of Compose must understand ${text}`);
    const value = variables[name];
    if (value) return value;
    if (kind === ':?') throw new MissingVariable(`${name}: ${rest}`);
    return rest ?? '';
  });
}
