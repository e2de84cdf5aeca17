import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CHAT_PERMISSIONS } from '#proto/chat/commands.ts';
import { PATIENCE } from '../patience.ts';
import { databaseRows } from '../postgres/database.ts';
import { commandBody, newInteractionId, signatureOf } from '../system/interactions.ts';
import { GUILD, OTHER_GUILD } from '../system/system.ts';
import { InteractionsFixture } from './fixtures/interactions.ts';

// Accounts and roles of the simulators' demo world.
const OFFICER = '910000000000000001';
const CAPTAIN = '910000000000000002';
const VERIFIED = '910000000000000006';
const ADA = '920000000000000001';
const BRUNO = '920000000000000002';
const DMITRI = '920000000000000004';
const FARID = '920000000000000006';
const GRACE = '920000000000000007';
const ADAS_GAME = 7001;
const BRUNOS_GAME = 7002;
const { BAN_MEMBERS, MODERATE_MEMBERS } = CHAT_PERMISSIONS;

const fixture = new InteractionsFixture();

beforeAll(async () => {
  await fixture.start();
  await fixture.link(ADA, ADAS_GAME);
  await fixture.link(BRUNO, BRUNOS_GAME);
});
afterAll(() => fixture.stop());

const rows = (id: string) =>
  databaseRows<Record<string, unknown>>(
    fixture.network.databaseUrl,
    `SELECT id, chat_id, command, token, options, state FROM auth.interactions WHERE id = '${id}'`,
  );

describe('the endpoint', () => {
  test('responds to a signed PING, with which the platform checks the address', async () => {
    expect(await fixture.signed('{"type":1}')).toMatchObject({ status: 200, json: { type: 1 } });
  });

  test('exists only for POST', async () => {
    const { status, headers } = await fixture.send('', {}, { method: 'GET' });
    expect([status, headers.get('allow')]).toEqual([405, 'POST']);
  });

  test('accepts an interaction once: a repeated one is rejected, and is not carried out again', async () => {
    const id = newInteractionId();
    const body = commandBody({ guildId: GUILD, chatId: GRACE, name: 'verify', id });
    const headers = signatureOf(body);
    const [first, second] = await Promise.all([fixture.send(body, headers), fixture.send(body, headers)]);
    expect(new Set([first.status, second.status])).toEqual(new Set([200, 409]));
    expect((await fixture.signed(body)).json).toMatchObject({ details: { code: 'CONFLICT' } });
    await fixture.editOf(id);
    expect(fixture.webhooks.edits.filter(({ token }) => token === `token-${id}`)).toHaveLength(1);
  });

  test('stores the token and the options only until the command is carried out', async () => {
    const id = newInteractionId();
    await fixture.use({ chatId: GRACE, name: 'whois', options: { game_id: 7002 }, id });
    await expect
      .poll(() => rows(id), PATIENCE)
      .toEqual([{ id, chat_id: GRACE, command: 'whois', token: null, options: {}, state: 'done' }]);
  });

  test('a command outside of a guild, or in a guild without data here, gets its response at once', async () => {
    const inGuild = JSON.parse(commandBody({ guildId: GUILD, chatId: GRACE, name: 'verify' }));
    const outside = JSON.stringify({ ...inGuild, guild_id: undefined, member: undefined, user: { id: GRACE } });
    const unknown = commandBody({ guildId: OTHER_GUILD, chatId: GRACE, name: 'verify' });
    const contentOf = async (body: string) => (await fixture.signed(body)).json;
    const response = (content: unknown) => ({
      type: 4,
      data: { content, flags: 64, allowed_mentions: { parse: [] } },
    });
    expect(await contentOf(outside)).toEqual(response('Use this command in a server.'));
    expect(await contentOf(unknown)).toEqual(response(expect.stringContaining('not set up yet')));
  });

  test.each(['', '[]', '{"type":3}', 'null', '{"type":2}', '"x"'])('rejects the signed body %j', async (body) => {
    const { status, json } = await fixture.signed(body);
    expect([status, json.details.code]).toEqual([400, 'INVALID_REQUEST']);
  });
});

describe('/verify', () => {
  test('shows the linked account', async () => {
    expect(await fixture.use({ chatId: ADA, name: 'verify' })).toBe(
      'You are verified as **AdaBuilds** (game ID 7001).',
    );
  });

  test('gives a code, with which the player links the accounts in the game', async () => {
    const content = await fixture.use({ chatId: DMITRI, name: 'verify' });
    const [, code] = /code is \*\*([A-Z0-9]{8})\*\*/.exec(content) ?? [];
    const body = { guild_id: GUILD, code, game_id: 7004, game_username: 'Dmitri_2026' };
    const redeemed = await fixture.network.call('/verification/redeem', { method: 'POST', key: fixture.key, body });
    expect(redeemed.json.data).toMatchObject({ chat_id: DMITRI, game_id: 7004 });
    expect(await fixture.use({ chatId: DMITRI, name: 'verify' })).toContain(String.raw`**Dmitri\_2026**`);
  });
});

describe('/roles', () => {
  test('tells somebody without a game account to verify', async () => {
    expect(await fixture.use({ chatId: FARID, name: 'roles' })).toBe('You are not verified yet. Use `/verify` first.');
  });

  test('synchronises the roles, and explains each of them', async () => {
    const binding = { binding_type: 'account_age', account_age_platform: 'game', account_age_min_days: 1 };
    const body = { guild_id: GUILD, chat_role_id: VERIFIED, ...binding };
    const added = await fixture.network.call('/bindings/add', { method: 'POST', key: fixture.key, body });
    expect(added.json.status).toBe('success');
    const content = await fixture.use({ chatId: ADA, name: 'roles' });
    expect(content).toContain(`- <@&${VERIFIED}>: you have it.`);
  });
});

describe('/whois and /ban', () => {
  test('need the permission in the signed body', async () => {
    const options = { game_id: 7009, reason: 'spam' };
    const content = await fixture.use({ chatId: ADA, name: 'ban', options, permissions: MODERATE_MEMBERS });
    expect(content).toBe('You do not have the permission for this command.');
  });

  test('need a staff level besides the permission', async () => {
    const options = { game_id: 7009, reason: 'spam' };
    const use = (chatId: string) => fixture.use({ chatId, name: 'ban', options, permissions: BAN_MEMBERS });
    expect(await use(FARID)).toContain('Link your game account');
    expect(await use(ADA)).toContain('none of your roles is a staff role');
    const { json } = await fixture.network.call(`/moderation/${GUILD}/logs?game_id=7009`, { key: fixture.key });
    expect(json.data.logs).toEqual([]);
  });

  test('staff ban a player; the moderation log and the audit name them', async () => {
    await fixture.setStaff(OFFICER, 5);
    await fixture.setStaff(CAPTAIN, 1);
    const id = newInteractionId();
    const options = { game_id: 7008, reason: 'Used *speed* hacks', duration: '7d' };
    const content = await fixture.use({ chatId: ADA, name: 'ban', options, permissions: BAN_MEMBERS, id });
    expect(content).toMatch(/^Banned the player 7008 until <t:\d+:f>\. Reason: Used \\\*speed\\\* hacks$/);
    const { json } = await fixture.network.call(`/moderation/${GUILD}/logs?game_id=7008`, { key: fixture.key });
    expect(json.data.logs).toEqual([
      expect.objectContaining({ action: 'ban', moderator_chat_id: ADA, moderator_game_id: ADAS_GAME }),
    ]);
    const audited = () =>
      databaseRows<{ details: Record<string, unknown> }>(
        fixture.network.databaseUrl,
        `SELECT details FROM auth.audit WHERE action = 'ban.created' AND details->>'request_id' = 'interaction-${id}'`,
      );
    await expect
      .poll(audited, PATIENCE)
      .toEqual([{ details: expect.objectContaining({ person: { id: ADA, role: 'moderator' } }) }]);
  });

  test('name what is wrong with the options', async () => {
    const use = (options: Record<string, string | number>) =>
      fixture.use({ chatId: BRUNO, name: 'ban', options: { reason: 'spam', ...options }, permissions: BAN_MEMBERS });
    expect(await use({})).toContain('either with `member` or with `game_id`');
    expect(await use({ member: FARID })).toContain('not verified');
    expect(await use({ member: FARID, reason: 'a NUL: \0' })).toContain('not verified');
    expect(await use({ game_id: 7008 })).toBe('The player is banned already.');
    expect(await use({ game_id: 7010, duration: 'for ever' })).toContain(
      '`duration` must be permanent, or whole seconds',
    );
  });

  test('whois shows what is known about a player, found by the chat account', async () => {
    const use = (options: Record<string, string | number>) =>
      fixture.use({ chatId: ADA, name: 'whois', options, permissions: MODERATE_MEMBERS });
    const content = await use({ game_id: 7008 });
    expect(content.split('\n')).toEqual([
      'Player 7008, not linked',
      expect.stringMatching(/^Banned until <t:\d+:f>: Used \\\*speed\\\* hacks$/),
      'Latest decisions:',
      expect.stringMatching(/^- ban <t:\d+:R>: Used/),
    ]);
    expect(await use({ member: ADA })).toContain(`Player **AdaBuilds** (game ID 7001), linked with <@${ADA}>`);
  });
});

test('an edit that the platform does not accept at first is repeated, and the command is not', async () => {
  fixture.webhooks.failNext(2);
  const id = newInteractionId();
  const options = { game_id: 7012, reason: 'spam' };
  expect(await fixture.use({ chatId: BRUNO, name: 'ban', options, permissions: BAN_MEMBERS, id })).toContain('Banned');
  const { json } = await fixture.network.call(`/moderation/${GUILD}/logs?game_id=7012`, { key: fixture.key });
  expect(json.data.logs).toHaveLength(1);
  expect(fixture.webhooks.edits.every(({ mentions }) => JSON.stringify(mentions) === '{"parse":[]}')).toBe(true);
});

describe('guildctl', () => {
  test('registers the commands, and prints the public key of the application', async () => {
    const { status, out } = await fixture.guildctl('chat', 'commands', 'install', '--json');
    const application = JSON.parse(out);
    expect([status, application.commands]).toEqual([0, ['verify', 'roles', 'whois', 'ban']]);
    expect(application.public_key).toMatch(/^[0-9a-f]{64}$/);
    const path = `/api/v10/applications/${application.application_id}/commands`;
    const headers = { authorization: 'Bot test-bot-token' };
    const registered = await fetch(fixture.network.simulators.chat + path, { headers }).then((found) => found.json());
    expect(registered).toMatchObject([
      { name: 'verify', default_member_permissions: null, contexts: [0], options: [] },
      { name: 'roles', default_member_permissions: null },
      { name: 'whois', default_member_permissions: String(MODERATE_MEMBERS) },
      { name: 'ban', default_member_permissions: String(BAN_MEMBERS), options: { length: 4 } },
    ]);
  });

  test('prints the checks of a guild', async () => {
    const { status, out } = await fixture.guildctl('doctor', '--guild', GUILD, '--json');
    const { checks } = JSON.parse(out);
    expect(checks).toContainEqual(expect.objectContaining({ name: 'bot_receives_members', ok: true, fix: null }));
    // No game server has sent a heartbeat.
    expect(checks.find(({ name }: { name: string }) => name === 'servers_report')).toMatchObject({ ok: false });
    expect(status).toBe(1);
  });
});
