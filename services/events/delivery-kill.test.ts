import { afterAll, beforeAll, expect, test } from 'vitest';
import { PATIENCE } from '#test/patience.ts';
import { bundledProgram } from '#test/system/app.ts';
import { startReplicaProcess } from '#test/system/replica-process.ts';
import { testEnvironment } from '#test/system/signed-calls.ts';
import { LOOPBACK } from './delivery/fixture.ts';
import { newGuild, recordedFrom } from './fixture.ts';
import { WebhookFixture } from './fixtures/webhooks.ts';

const fixture = new WebhookFixture();
beforeAll(() => fixture.start());
afterAll(() => fixture.stop());

test('a process that is killed between a request and the stored cursor loses nothing', async () => {
  const guildId = newGuild();
  const receiver = await fixture.receiver();
  let isAnswering = false;
  receiver.respond = (_request, response) => (isAnswering ? response.end() : undefined);
  await fixture.create(guildId, { url: receiver.url });
  await fixture.events.stop();
  const environment = { ...testEnvironment(fixture.testDatabase.url), ...LOOPBACK };
  const process = await startReplicaProcess(await bundledProgram('events'), environment);
  const events = recordedFrom(1, 3).map((event) => ({ ...event, guildId }));
  await fixture.log(process.at).appendEvents({ service: 'moderation', events });
  await receiver.expectSeqs(1);
  await process.kill();
  isAnswering = true;
  fixture.events = await fixture.startEvents();
  await fixture.time.advance(31_000);
  await expect.poll(() => receiver.seqs, PATIENCE).toEqual([1, 1, 2, 3]);
}, 60_000);
