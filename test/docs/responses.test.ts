import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { RESPONSES } from '#gateway/docs/reference/responses.ts';
import { type Network, startNetwork } from '../system/system.ts';
import { recordExamples } from './examples.ts';

const FILE = join(import.meta.dirname, '../../gateway/docs/reference/responses.json');

const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
/** Fields with times, and with the number of the latest event, which events of earlier requests may still increase. */
const CHANGING_FIELD = /(?:_at|_time|_until|_since|_seq)$/;
/** A shorter duration is that of a session which the test itself has started and ended. */
const MAX_TEST_SECONDS = 60;

let network: Network;

beforeAll(async () => {
  network = await startNetwork();
});
afterAll(() => network.stop());

/** What must be equal in every run: everything but times, IDs that the system generates, and how long the test has taken. */
function comparable(data: unknown): unknown {
  return JSON.parse(JSON.stringify(data).replaceAll(UUID, 'uuid'), (name, value) => {
    const isChanging = CHANGING_FIELD.test(name) || (name === 'duration_seconds' && value < MAX_TEST_SECONDS);
    return typeof value === 'number' && isChanging ? 'number' : value;
  });
}

test('the responses that the reference shows are those of the real system', async () => {
  const recording = await recordExamples(network, { background: true });
  const isWritten = process.env['WRITE_RESPONSES'] !== undefined;
  if (isWritten) writeFileSync(FILE, `${JSON.stringify(recording.responses, null, 2)}\n`);
  const shown = isWritten ? recording.responses : RESPONSES;
  expect(comparable(shown), 'npm run docs:responses writes them again').toEqual(comparable(recording.responses));
});
