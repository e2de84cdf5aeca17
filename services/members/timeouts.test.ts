// Guarantees of the members' half of the mirror of mutes: timeouts are changed on the chat platform, and each change made
// there is reported, also about members whom the mirror does not know yet, in guilds that mirror timeouts.
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type { GrpcClient } from '#kit/grpc/client.ts';
import { Platform } from '#platforms/fixture.ts';
import {
  ChangeTimeoutResponse_Outcome as Outcome,
  TimeoutServiceService,
} from '#proto/gen/guild/members/v1/timeouts.ts';
import { connect } from '#test/network/grpc.ts';
import { PATIENCE } from '#test/patience.ts';
import { GUILD, MembersFixture } from './fixture.ts';

const ADA = '920000000000000001';
const HOUR_MS = 3_600_000;

const fixture = new MembersFixture();
let chat: Platform;
let timeouts: GrpcClient<typeof TimeoutServiceService>;
let close: () => void;

beforeAll(async () => {
  await fixture.start({ members: { CHAT_GATEWAY_ENABLED: 'true' } });
  chat = new Platform(fixture.simulators.chat);
  const address = fixture.members.addresses.grpc ?? '';
  ({ client: timeouts, close } = connect(TimeoutServiceService, 'members', address, fixture.clock));
  await vi.waitUntil(() => fixture.isMirrorLive(), PATIENCE);
});
afterAll(async () => {
  close();
  await fixture.stop();
});

const reported = async () => (await timeouts.listTimeoutChanges({ after: 0, limit: 10, guildId: '' })).changes;
const names = async () => (await reported()).map(({ guildId, chatId }) => [guildId, chatId]);

/** Changes a member as a moderator of the guild would. */
async function changeThere(user: string, timeoutUntil: string | null): Promise<void> {
  const body = { guild: GUILD, user, action: 'update', timeout_until: timeoutUntil };
  const response = await fetch(`${chat.url}/__members`, { method: 'POST', body: JSON.stringify(body) });
  if (!response.ok) throw new Error(await response.text());
}

test('timeouts are changed on the platform, and each change is reported once the guild mirrors them', async () => {
  const until = Math.floor((Date.now() + HOUR_MS) / 1000) * 1000;
  // Not mirrored yet.
  await changeThere(ADA, new Date(until).toISOString());
  await vi.waitFor(async () =>
    expect((await timeouts.getTimeout({ guildId: GUILD, chatId: ADA })).untilMs).toBe(until),
  );
  expect(await reported()).toEqual([]);

  await fixture.patch(`/guilds/${GUILD}/settings`, { mirror_timeouts: true });
  await changeThere(ADA, null);
  await expect.poll(names, PATIENCE).toEqual([[GUILD, ADA]]);
  expect((await timeouts.getTimeout({ guildId: GUILD, chatId: ADA })).untilMs).toBeUndefined();

  const change = { guildId: GUILD, chatId: ADA, untilMs: until, reason: 'Muted in the game' };
  expect((await timeouts.changeTimeout(change)).outcome).toBe(Outcome.OUTCOME_DONE);
  expect((await timeouts.getTimeout({ guildId: GUILD, chatId: ADA })).untilMs).toBe(until);
  await expect.poll(names, PATIENCE).toHaveLength(2);
});
