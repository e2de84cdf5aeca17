import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { COMPOSE_FILE, type ComposeProject, readProject, requiredVariables } from './project.ts';

type Command = readonly [program: string, ...parameters: string[]];

/** Both versions of Compose. */
const COMMANDS: readonly Command[] = [['docker', 'compose'], ['docker-compose']];
const installed = COMMANDS.filter(([program, ...parameters]) => canRun(program, [...parameters, 'version']));
if (installed.length === 0)
  console.log('NOT CHECKED: docker-compose.yml with Compose itself, because it is not installed');

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'guild-data-compose-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

describe.skipIf(installed.length === 0)('every installed version of Compose', () => {
  test.each(['simulated', 'real'])('reads the file with %s platforms as our tests read it', (platforms) => {
    const required = requiredVariables(platforms).map((name) => [name, `value-of-${name}`] as const);
    const variables = { ...Object.fromEntries(required), PLATFORMS: platforms };
    const expected = readProject(variables).services;
    for (const command of installed) {
      const { services } = config(command, variables);
      // Version 2 does not print services of a profile that is not selected.
      const started = Object.keys(expected).filter((name) => !expected[name]?.profiles);
      expect(Object.keys(services)).toEqual(expect.arrayContaining(started));
      for (const name of started) {
        expect(services[name]?.command).toEqual(expected[name]?.command);
        expect(texts(services[name]?.environment)).toEqual(texts(expected[name]?.environment));
      }
      expect(services['simulators']?.profiles).toEqual(services['simulators'] && expected['simulators']?.profiles);
    }
  });

  test('reports a missing variable and where its value comes from', () => {
    for (const command of installed) expect(() => config(command, {})).toThrow('put it into .env');
  });
});

function canRun(program: string, parameters: readonly string[]): boolean {
  try {
    execFileSync(program, parameters, { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** What Compose makes of the file. */
function config([program, ...parameters]: Command, variables: Record<string, string>): ComposeProject {
  const env = join(folder, 'env');
  const lines = Object.entries(variables).map(([name, value]) => `${name}=${value}`);
  writeFileSync(env, lines.join('\n'));
  const printed = execFileSync(program, [...parameters, '--env-file', env, '--file', COMPOSE_FILE, 'config'], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env['PATH'] },
  });
  return parse(printed) as ComposeProject;
}

const texts = (environment: object = {}) =>
  Object.fromEntries(Object.entries(environment).map(([name, value]) => [name, String(value ?? '')]));
