import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { EXAMPLES_FOLDER, examplesOf, type Language } from '#gateway/docs/examples.ts';
import { EXAMPLE_URL } from '#gateway/docs/guides.ts';
import { createEngine, Universe } from '../../clients/luau/test/engine/engine.ts';
import { readModules } from '../../clients/luau/test/engine/modules.ts';
import { unpackClient } from '../../clients/typescript/pack.ts';
import type { Recorder } from './recorder.ts';

const TIMEOUT_MS = 50_000;

/** The values that stand in the example files, where readers write their own. */
const EXAMPLE_KEY = 'service_900000000000000001_...';
const EXAMPLE_WEBHOOK_URL = 'https://example.com/hooks';

const LUAU_MODULE = join(import.meta.dirname, '../../clients/luau/src');
const UNIVERSE = 30001;
const PLACE = 40001;

/** One example in one language. */
export interface Step {
  guide: string;
  /** The name of its file, without the extension. */
  name: string;
  code: string;
}

export interface RunOptions {
  steps: readonly Step[];
  recorder: Recorder;
  key: string;
  /** Where webhooks are sent, and the port of 127.0.0.1 on which the examples receive them. */
  webhookUrl: string;
  port: number;
}

const SET_UP = '01-set-up';

export const stepName = ({ guide, name }: Step): string => `${guide}/${name}`;

/** Runs the examples of a language one after the other, as one program, and returns what they print. */
export const RUNNERS: Record<Language, (options: RunOptions) => Promise<string>> = {
  async sh(options) {
    const lines = options.steps.flatMap((step) => [
      ...(step.name === SET_UP ? [] : [`curl -sS '${options.recorder.stepUrl(stepName(step))}'`]),
      withValues(step.code, options),
    ]);
    return await inNewFolder(async (folder) => {
      writeFileSync(join(folder, 'examples.sh'), lines.join('\n'));
      return await outputOf('bash', ['-e', 'examples.sh'], folder, {});
    });
  },

  async ts({ steps, recorder, key, webhookUrl, port }) {
    const lines = steps.flatMap((step) => [
      `await fetch(${JSON.stringify(recorder.stepUrl(stepName(step)))});`,
      `await import(${JSON.stringify(`./${stepName(step)}.ts`)});`,
    ]);
    const program = [...lines, 'process.exit();'].join('\n');
    const environment = {
      GUILD_DATA_URL: recorder.url,
      GUILD_DATA_KEY: key,
      WEBHOOK_URL: webhookUrl,
      PORT: String(port),
    };
    return await inNewFolder(async (folder) => {
      unpackClient(folder);
      cpSync(EXAMPLES_FOLDER, folder, { recursive: true });
      return await outputOf(process.execPath, ['--input-type=module', '-e', program], folder, environment);
    });
  },

  async luau(options) {
    const output: string[] = [];
    // Each guide has a game server of its own, which ends after it: functions bound to that run then.
    for (const steps of Map.groupBy(options.steps, ({ guide }) => guide).values()) {
      output.push(...(await runInEngine({ ...options, steps })));
    }
    return output.join('\n');
  },
};

/** Runs the examples of one guide, after the set-up, in a game server. Returns what they print, and who was kicked. */
async function runInEngine(options: RunOptions): Promise<string[]> {
  const setUp = examplesOf('start').get(SET_UP)?.luau ?? '';
  const lines = options.steps
    .filter(({ name }) => name !== SET_UP)
    .flatMap((step) => {
      const request = `{ Url = "${options.recorder.stepUrl(stepName(step))}", Method = "GET" }`;
      return [`game:GetService("HttpService"):RequestAsync(${request})`, step.code];
    });
  const engine = await createEngine({
    universe: new Universe({ id: UNIVERSE }),
    modules: [await readModules(LUAU_MODULE, 'GuildData')],
    secrets: { guild_data_key: { value: options.key, domain: '127.0.0.1' } },
    game: { PlaceId: PLACE },
  });
  engine.addPlayer(7001, 'AdaBuilds');
  engine.addPlayer(7004, 'Dmitri_2026');
  await engine.run(withValues([setUp, ...lines].join('\n'), options));
  await engine.close();
  if (engine.errors.length > 0) throw new Error(engine.errors.join('\n'));
  const kicked = engine.kicks.map(({ userId, reason }) => `kicked ${userId}: ${reason}`);
  return [...engine.output.map(({ text }) => text), ...kicked];
}

/** Replaces the values that stand in an example file by those of the test. */
function withValues(code: string, { recorder, key, webhookUrl }: RunOptions): string {
  return code
    .replaceAll(EXAMPLE_URL, recorder.url)
    .replaceAll(EXAMPLE_KEY, key)
    .replaceAll(EXAMPLE_WEBHOOK_URL, webhookUrl);
}

/** Runs a function with a folder of its own, which is removed then. */
async function inNewFolder<Result>(run: (folder: string) => Promise<Result>): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), 'guild-data-examples-'));
  try {
    return await run(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function outputOf(
  program: string,
  parameters: string[],
  folder: string,
  environment: Record<string, string>,
): Promise<string> {
  try {
    const env = { PATH: process.env['PATH'], ...environment };
    const { stdout } = await promisify(execFile)(program, parameters, { cwd: folder, env, timeout: TIMEOUT_MS });
    return stdout;
  } catch (error) {
    const { stdout, stderr } = error as { stdout?: string; stderr?: string };
    throw new Error(`${program} failed\n${stdout}\n${stderr}`, { cause: error });
  }
}
