import { spawnSync } from 'node:child_process';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Example, examplesOf, type Language } from '#gateway/docs/examples.ts';
import { GUIDES } from '#gateway/docs/guides.ts';
import { freePorts } from '#local/ports.ts';
import { startNetwork } from '../system/system.ts';
import { Recorder } from './recorder.ts';
import { RUNNERS, type RunOptions, type Step, stepName } from './runners.ts';

/** Examples that send no request to the API. */
const WITHOUT_REQUEST = ['start/01-set-up', 'webhooks/01-receive'];

const recorder = new Recorder();
let network: Awaited<ReturnType<typeof startNetwork>>;
let values: Pick<RunOptions, 'key' | 'port' | 'webhookUrl'>;

beforeAll(async () => {
  network = await startNetwork({
    environment: { WEBHOOKS_ALLOW_HTTP: 'true', WEBHOOKS_ALLOWED_NETWORKS: '127.0.0.1' },
  });
  await recorder.start(network.api.replace('/api/v1', ''));
  const [port = 0] = await freePorts(1);
  const { secret } = await network.createKey();
  values = { key: secret, port, webhookUrl: `http://127.0.0.1:${port}/` };
});
afterAll(async () => {
  recorder.close();
  await network.stop();
});

/** The examples of all guides in a language, in the order in which the pages show them. */
function stepsIn(language: Language): Step[] {
  return GUIDES.flatMap((guide) =>
    [...examplesOf(guide)].flatMap(([name, example]: [string, Example]) => {
      const code = example[language];
      return code === undefined ? [] : [{ guide, name, code }];
    }),
  );
}

const hasJq = spawnSync('jq', ['--version']).status === 0;

/** Runs the examples of a language. Each must send a request, and get no response but 2xx. Returns what they print. */
async function expectExamplesToWork(language: Language): Promise<string> {
  const steps = stepsIn(language);
  recorder.recorded.length = 0;
  const output = await RUNNERS[language]({ steps, recorder, ...values });
  expect(recorder.recorded.filter(({ status }) => status < 200 || status > 299)).toEqual([]);
  const silent = steps.map(stepName).filter((name) => !recorder.recorded.some(({ step }) => step === name));
  expect(silent.filter((name) => !WITHOUT_REQUEST.includes(name))).toEqual([]);
  return output;
}

test('the examples in TypeScript work in the order shown', async () => {
  const output = await expectExamplesToWork('ts');
  expect(output).toContain('EstherRows is 920000000000000005');
  expect(output).toContain('7004 Used speed hacks');
  expect(output).toContain("type: 'webhook.test'");
  expect(output).toContain('the same mute: true');
});

test('the examples in Luau work in the order shown', async () => {
  const output = await expectExamplesToWork('luau');
  expect(output).toContain('EstherRows is 920000000000000005');
  expect(output).toContain('kicked 7004: Used speed hacks');
  expect(output).toContain('broadcast Restart in five minutes');
  expect(output).toMatch(/^201 true$/m);
});

test('the examples in curl work in the order shown', async ({ skip }) => {
  if (!hasJq) {
    console.log('NOT CHECKED: the examples in curl, because there is no jq on the path (Debian: apt-get install jq)');
    skip();
  }
  const output = await expectExamplesToWork('sh');
  expect(output).toContain('"game_username": "EstherRows"');
  expect(output).toContain('7004: Used speed hacks');
  expect(output).toMatch(/idempotency-replayed: true/i);
});
