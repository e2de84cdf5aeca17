// Guarantee: whatever is down, a slash command gets a response within the three seconds for which the chat platform waits, and
// the person learns how it ended. A command that was accepted is carried out once when everything works again.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '#kit/clock.ts';
import { loadWorld, World } from '#local/simulators/world.ts';
import { CHAT_PERMISSIONS } from '#proto/chat/commands.ts';
import { ChatAdminServiceService } from '#proto/gen/guild/members/v1/chat.ts';
import { connect } from '../network/grpc.ts';
import { PATIENCE } from '../patience.ts';
import { databaseRows } from '../postgres/database.ts';
import { GUILD } from '../system/system.ts';
import { expectNothingUnhandled } from './faults.ts';
import { type Fault, FaultyNetwork, type Part } from './faulty-network.ts';

const OFFICER = '910000000000000001';
/** Each test has a moderator of its own, because a member may use ten commands a minute. */
const MODERATORS = ['01', '02', '03', '04', '05', '06', '08', '09', '10', '11'].map((end) => `9200000000000000${end}`);
const GRACE = '920000000000000007';
const LATER = 'Commands do not work at the moment. Try again in a minute.';

const system = new FaultyNetwork();
let key: string;
let moderator = '';
let player = 8_000;

expectNothingUnhandled();
beforeAll(async () => {
  const { data } = loadWorld(undefined);
  for (const { roles, members } of data.chat.guilds) {
    const officer = roles.find(({ id }) => id === OFFICER);
    if (officer) officer.permissions = String(CHAT_PERMISSIONS.BAN_MEMBERS | CHAT_PERMISSIONS.MODERATE_MEMBERS);
    for (const member of members) if (MODERATORS.includes(member.id)) member.roles = [OFFICER];
  }
  const world = new World(data);
  await system.start({
    simulators: { world },
    environment: { CHAT_APPLICATION_PUBLIC_KEY: world.application.publicKey },
  });
  const { network } = system;
  key = (await network.createKey()).secret;
  const address = network.address('members', 'grpc');
  const members = connect(ChatAdminServiceService, 'members', address, systemClock, [network.secrets.admin]);
  await members.client.installCommands({ actor: '' });
  members.close();
  for (const [index, chatId] of MODERATORS.entries()) {
    const link = { guild_id: GUILD, chat_id: chatId, game_id: 9_001 + index, game_username: `Moderator${index}` };
    const { status } = await network.call('/verification/link', { method: 'POST', key, body: link });
    if (status !== 201) throw new Error(`not linked: ${status}`);
  }
  await databaseRows(
    network.databaseUrl,
    `INSERT INTO activity.staff_roles (guild_id, chat_role_id, level, name, permissions, updated_at)
     VALUES ('${GUILD}', '${OFFICER}', 5, 'Officer', '{}', now())`,
  );
});
afterAll(() => system.stop());
beforeEach(() => {
  moderator = MODERATORS[player++ % MODERATORS.length] ?? '';
});

interface Used {
  id: string;
  /** null: there was no response within 3 seconds. */
  status: number | null;
  message: { content?: string; pending: boolean } | null;
}

const interactions = (init?: RequestInit) => fetch(`${system.network.simulators.chat}/__interactions`, init);

/** Lets the chat platform send a command to the gateway. */
async function use(user: string, command: string, options: object = {}): Promise<Used> {
  const url = `${new URL(system.network.api).origin}/interactions`;
  const body = JSON.stringify({ url, guild: GUILD, user, command, options });
  return (await interactions({ method: 'POST', body })).json() as Promise<Used>;
}

const ban = () => use(moderator, 'ban', { game_id: String(player), reason: 'spam' });

/** The text that the person sees, once the command has ended. */
async function textOf({ id }: Used): Promise<string> {
  const find = async () => {
    const { interactions: all } = (await (await interactions()).json()) as { interactions: Used[] };
    const message = all.find((one) => one.id === id)?.message;
    return message?.pending === false ? message.content : undefined;
  };
  await expect.poll(find, PATIENCE).toBeDefined();
  return (await find()) ?? '';
}

/** The bans of the player, once the gateway reaches moderation again. */
async function bansOfPlayer(): Promise<unknown[]> {
  const read = () => system.network.call(`/moderation/${GUILD}/logs?game_id=${player}`, { key });
  await expect.poll(async () => (await read()).status, PATIENCE).toBe(200);
  return (await read()).json.data.logs;
}

const REPEATING = { ...PATIENCE, interval: 3_000 };

test('with the simulated platform, /verify leads from a code to the linked account', async () => {
  const [, code] = /code is \*\*([A-Z0-9]{8})\*\*/.exec(await textOf(await use(GRACE, 'verify'))) ?? [];
  const body = { guild_id: GUILD, code, game_id: 7007, game_username: 'Grace' };
  const redeemed = await system.network.call('/verification/redeem', { method: 'POST', key, body });
  expect(redeemed.status).toBe(200);
  expect(await textOf(await use(GRACE, 'verify'))).toBe('You are verified as **Grace** (game ID 7007).');
});

// Without auth or its database nothing can be accepted. The person is told at once, and nothing happens later.
test.each<[Part, Fault]>([
  ['auth', 'down'],
  ['auth', 'slow'],
  ['auth', 'reset'],
  ['postgres', 'slow'],
])('with %s %s the person is told within 3 s to try again, and afterwards commands work', async (part, fault) => {
  await system.inflict(part, fault);
  const { status, message } = await use(moderator, 'verify');
  await system.restore(part, fault);
  expect([status, message?.content]).toEqual([200, LATER]);
  await expect.poll(async () => (await use(moderator, 'verify')).message?.content !== LATER, REPEATING).toBe(true);
});

test.each<[Part, Fault]>([
  ['members', 'down'],
  ['activity', 'slow'],
  ['moderation', 'slow'],
  ['moderation', 'reset'],
  ['redis', 'slow'],
])('a ban that is used while %s is %s is accepted within 3 s, and carried out once afterwards', async (part, fault) => {
  await system.inflict(part, fault);
  const used = await ban();
  await system.restore(part, fault);
  expect(used.status).toBe(200);
  expect(await textOf(used)).toMatch(/^Banned the player /);
  expect(await bansOfPlayer()).toHaveLength(1);
});

describe('while a service stays down', () => {
  test('a ban ends after a minute with a text that says what to do, and is not carried out later', async () => {
    await system.inflict('moderation', 'down');
    const used = await ban();
    await databaseRows(
      system.network.databaseUrl,
      `UPDATE auth.interactions SET queued_at = clock_timestamp() - interval '61 seconds' WHERE id = '${used.id}'`,
    );
    const text = await textOf(used);
    await system.restore('moderation', 'down');
    expect(text).toBe(
      'This does not work at the moment, and it is not certain whether the player was banned. Use the command again in a few minutes: nobody is banned twice.',
    );
    expect(await bansOfPlayer()).toEqual([]);
  });
});
