import { afterAll, beforeAll, expect, test } from 'vitest';
import { type RunningService, startService } from '#kit/service/service.ts';
import { activityService } from '#services/activity/service.ts';
import { bindingsService } from '#services/bindings/service.ts';
import { lookupService } from '#services/lookup/service.ts';
import { membersService } from '#services/members/service.ts';
import { moderationService } from '#services/moderation/service.ts';
import { createTestDatabase, databaseRows, type TestDatabase } from '#test/postgres/database.ts';
import { startAuthForOperators, type TestAuth } from '#test/system/auth.ts';
import { TEST_ADMIN_SECRETS, testEnvironment } from '#test/system/signed-calls.ts';
import { guildctl } from '../guildctl.ts';

const GUILD = '900000000000000001';
const OTHER_GUILD = '900000000000000002';
const [ADMIN_SECRET = ''] = TEST_ADMIN_SECRETS;
const NOWHERE = '127.0.0.1:1';

let database: TestDatabase;
let moderation: RunningService;
let members: RunningService;
let activity: RunningService;
let lookup: RunningService;
let bindings: RunningService;

let auth: TestAuth;
beforeAll(async () => {
  database = await createTestDatabase();
  auth = await startAuthForOperators(database.url);
  const environment = testEnvironment(database.url);
  const platform = { CHAT_BOT_TOKEN: 'token', LOOKUP_GRPC_ADDRESS: NOWHERE };
  [moderation, members, activity, lookup, bindings] = await Promise.all([
    startService(moderationService, { ...environment, ACTIVITY_GRPC_ADDRESS: NOWHERE }),
    startService(membersService, { ...environment, ...platform, BINDINGS_GRPC_ADDRESS: NOWHERE }),
    startService(activityService, {
      ...environment,
      LOOKUP_GRPC_ADDRESS: NOWHERE,
      MEMBERS_GRPC_ADDRESS: NOWHERE,
    }),
    startService(lookupService, environment),
    startService(bindingsService, { ...environment, ...platform }),
  ]);
  // Three dead letters of moderation, one intent that waits, and one event that cannot be relayed.
  await databaseRows(
    database.url,
    `INSERT INTO moderation.log (guild_id, id, action, punishment_id, game_id, place_id, created_at)
     VALUES ($1, 1, 'ban', 1, 7, 0, now()), ($1, 2, 'ban', 2, 8, 0, now()), ($2, 1, 'ban', 1, 7, 0, now())`,
    [GUILD, OTHER_GUILD],
  );
  await databaseRows(
    database.url,
    `INSERT INTO moderation.outbox (guild_id, log_id, state, failures, last_error)
     SELECT guild_id, id, 'dead', 12, 'INTERNAL: broken' FROM moderation.log`,
  );
  await databaseRows(
    database.url,
    `INSERT INTO members.intents (guild_id, operation_id, kind, chat_id, due_at, leased_until)
     VALUES ($1, 'aaaaaaaa-0000-4000-8000-000000000001', 'unlink', '920000000000000001', now() + interval '1 hour', NULL)`,
    [GUILD],
  );
  await databaseRows(
    database.url,
    `INSERT INTO lookup.events (guild_id, number, type, source, persons, data, run_at)
     VALUES ($1, 1, 'link.created', '{}', '{}', '{}', now() + interval '1 hour')`,
    [GUILD],
  );
});
afterAll(async () => {
  await auth.stop();
  await Promise.all([moderation, members, activity, lookup, bindings].map((service) => service.stop()));
  await database.drop();
});

async function run(...words: string[]): Promise<{ status: number; out: string; error: string }> {
  const said = { out: '', error: '' };
  const status = await guildctl(words, {
    environment: {
      GUILDCTL_AUTH: auth.address,
      GUILDCTL_MODERATION: moderation.addresses.grpc,
      GUILDCTL_MEMBERS: members.addresses.grpc,
      GUILDCTL_LOOKUP: lookup.addresses.grpc,
      GUILDCTL_BINDINGS: bindings.addresses.grpc,
      GUILDCTL_ACTIVITY: activity.addresses.grpc,
      ADMIN_SECRETS: ADMIN_SECRET,
    },
    user: 'ada',
    out: (text) => (said.out += text),
    error: (text) => (said.error += text),
  });
  return { status, ...said };
}

interface List {
  items: { service: string; guild_id: string; id: string; state: string }[];
  next_cursor: string | null;
}

async function list(...words: string[]): Promise<List> {
  const { status, out, error } = await run('queue', 'list', ...words, '--json');
  expect({ status, error }).toEqual({ status: 0, error: '' });
  return JSON.parse(out) as List;
}

const DECISIONS = ['--service', 'moderation', '--queue', 'decisions'];

test('queue list shows the items of every service, page by page or all', async () => {
  const all = await list('--all');
  expect(all).toEqual({
    items: [
      {
        service: 'moderation',
        queue: 'decisions',
        guild_id: GUILD,
        id: '1',
        state: 'dead',
        attempts: 12,
        run_at: expect.any(Number),
        queued_at: expect.any(Number),
        last_error: 'INTERNAL: broken',
      },
      expect.objectContaining({ guild_id: GUILD, id: '2' }),
      expect.objectContaining({ guild_id: OTHER_GUILD, id: '1' }),
      expect.objectContaining({ service: 'members', queue: 'link-changes', state: 'queued', last_error: null }),
      expect.objectContaining({ service: 'lookup', queue: 'events', id: '1', state: 'queued' }),
    ],
    next_cursor: null,
  });
  // One page, which continues with the next service.
  expect(await list()).toEqual(all);
  const found: List['items'] = [];
  for (let cursor: string[] | undefined = []; cursor !== undefined; ) {
    const page: List = await list('--limit', '2', ...cursor);
    found.push(...page.items);
    cursor = page.next_cursor === null ? undefined : ['--cursor', page.next_cursor];
  }
  expect(found).toEqual(all.items);
  expect((await list('--state', 'dead', '--guild', OTHER_GUILD, '--all')).items).toHaveLength(1);
  expect((await list('--service', 'members')).items).toHaveLength(1);
  const { out } = await run('queue', 'list', '--service', 'moderation');
  expect(out).toMatch(/^SERVICE +QUEUE +GUILD/);
  expect(out).toContain('INTERNAL: broken');
});

test('queue retry and queue skip change items only with --yes where it is required', async () => {
  expect(await run('queue', 'retry', ...DECISIONS, '--all')).toMatchObject({
    status: 1,
    error: expect.stringContaining('This retries every dead letter of decisions in all guilds. Nothing was changed.'),
  });
  const skip = ['queue', 'skip', ...DECISIONS, '--guild', GUILD, '--id', '2'];
  expect(await run(...skip)).toMatchObject({ status: 1, error: expect.stringContaining('--yes') });
  expect(await run(...skip, '--yes')).toMatchObject({ status: 0, out: 'The item was discarded.\n' });
  expect(await run(...skip, '--yes')).toMatchObject({ status: 1, error: expect.stringContaining('no such item') });
  expect(await run('queue', 'retry', ...DECISIONS, '--guild', GUILD, '--id', '1')).toMatchObject({ status: 0 });
  expect(await run('queue', 'retry', ...DECISIONS, '--all', '--yes')).toMatchObject({
    out: '1 will be tried again.\n',
  });
  expect(await run('queue', 'retry', ...DECISIONS, '--all', '--yes')).toMatchObject({
    out: 'There are no dead letters.\n',
  });
  const { items } = await list('--service', 'moderation');
  expect(items.map(({ guild_id: guild, id, state }) => [guild, id, state === 'dead'])).toEqual([
    [GUILD, '1', false],
    [OTHER_GUILD, '1', false],
  ]);
});

test.each([
  [['queue', 'list', '--service', 'gateway'], '--service must be'],
  [['queue', 'list', '--queue', 'decisions'], '--queue needs --service'],
  [['queue', 'list', '--cursor', 'x'], '--cursor must be'],
  [['queue', 'list', '--state', 'done'], 'must be queued or dead'],
  [['queue', 'retry', ...DECISIONS, '--id', '1'], '--guild'],
  [['queue', 'retry', ...DECISIONS], 'exactly one of --id, --all'],
  [['queue', 'retry', '--service', 'moderation', '--queue', 'boats', '--all', '--yes'], 'There is no queue "boats"'],
])('%j is rejected', async (words, message) => {
  expect(await run(...words)).toMatchObject({ status: 1, error: expect.stringContaining(message) });
});
