import { status } from '@grpc/grpc-js';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { CommandAdminServiceService } from '#proto/gen/guild/activity/v1/admin.ts';
import { connect } from '#test/network/grpc.ts';
import { ActivityFixture, newGuild } from './fixture.ts';

const fixture = new ActivityFixture();
beforeAll(() => fixture.start());
afterAll(() => fixture.stop());

const idsOf = (commands: { command_id: string }[]) => commands.map(({ command_id: id }) => id);
const unixNow = () => Math.floor(fixture.clock.now() / 1000);

test('operators get the newest commands first, each with its state', async () => {
  const guildId = newGuild();
  await fixture.beat('a', {}, { guildId });
  const ids: string[] = [];
  for (const ttlSeconds of [5, 600, 600, 600]) ids.push(...(await fixture.send('a', { guildId, ttlSeconds })));
  await fixture.advance(5_000);
  const [acked = ''] = idsOf(await fixture.take('a', '?limit=2', { guildId }));
  await fixture.ack('a', acked, { status: 'rejected', result: [1], error: 'no' }, { guildId });
  const { commands } = await fixture.admin().listCommands({ guildId, limit: 0 });
  expect(commands.map(({ commandId, state }) => [commandId, state])).toEqual([
    [ids[3], 'open'],
    [ids[2], 'open'],
    [ids[1], 'finished'],
    [ids[0], 'finished'],
  ]);
  const states = await Promise.all(ids.map((id) => fixture.states(guildId, id)));
  expect(states.map(({ a }) => a)).toEqual(['expired', 'rejected', 'leased', 'queued']);
  const outcome = { attempt: 1, result: '[1]', error: 'no', ackedAt: unixNow(), issuedBy: 'operator' };
  expect(commands[2]).toMatchObject(outcome);
  expect((await fixture.admin().listCommands({ guildId, limit: 2 })).commands).toHaveLength(2);
});

test('operators get every fault of a request', async () => {
  const sent = fixture.send('a b', { type: 'dance', payload: '[]', ttlSeconds: 0, target: { gameId: 0 } });
  const error = await sent.catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: 'INVALID_REQUEST' });
  const { errors } = (error as { details: { errors: { path: string }[] } }).details;
  expect(errors.map(({ path }) => path).toSorted()).toEqual([
    'request.payload',
    'request.servers.value',
    'request.target.game_id',
    'request.ttl',
    'request.type',
  ]);
  await expect(fixture.send('a', { payload: `{"x":"${'x'.repeat(8_192)}"}` })).rejects.toThrow('at most 8 KiB');
  await expect(fixture.deliver({ eventId: 'x' })).rejects.toThrow('request.event_id');
});

test('a call with the secret of services instead of the operators is rejected', async () => {
  const { client, close } = connect(
    CommandAdminServiceService,
    'activity',
    fixture.activity.addresses.grpc ?? '',
    fixture.clock,
  );
  const rejected = client.listCommands({ guildId: newGuild(), limit: 0 });
  await expect(rejected).rejects.toMatchObject({ cause: { code: status.UNAUTHENTICATED } });
  close();
});
