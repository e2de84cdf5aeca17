// Every statement of a request is limited to one guild, so that tables can be sharded by guild and a guild can have a database
// of its own. deploy/decisions describes the exceptions.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTestDatabase, databaseRows, type TestDatabase } from '#test/postgres/database.ts';
import { CODE, SERVICES } from './sources.ts';

/** Statements that are not limited to one guild, by a part of their text, with the reason. */
const ACROSS_GUILDS: readonly { file: string; text: RegExp; reason: string }[] = [
  {
    file: 'services/auth/store/keys.ts',
    text: /changed_at, k\.guild_id, k\.number\) >/,
    reason: 'the feed of key changes',
  },
  { file: 'services/activity/store/command-records.ts', text: /AS states/, reason: 'a gauge, read now and then' },
  { file: 'services/auth/store/guilds.ts', text: /g\.guild_id >/, reason: 'a page of guilds, for operators' },
  {
    file: 'services/auth/store/keys.ts',
    text: /k\.guild_id, k\.number\) > \(\$2/,
    reason: 'keys over all guilds, for operators',
  },
  { file: 'services/auth/store/audit.ts', text: /FROM auth\.audit_heads/, reason: 'pages of chains, for operators' },
  { file: 'services/auth/store/audit-feed.ts', text: /auth\.audit_feed/, reason: 'the lease of a process' },
  {
    file: 'services/events/store/audit-entries.ts',
    text: /AS "oldestSeconds"/,
    reason: 'a gauge, read every second or two',
  },
  { file: 'services/auth/store/operators.ts', text: /auth\.operators/, reason: 'operators belong to no guild' },
  { file: 'services/auth/store/sign-ins.ts', text: /auth\.sign_ins/, reason: 'nobody knows yet who signs in' },
  {
    file: 'services/members/store/chat-shards.ts',
    text: /members\.chat_shards/,
    reason: 'the websocket of the chat platform belongs to no guild',
  },
  { file: 'services/members/store/sync-jobs.ts', text: /GROUP BY 1/, reason: 'a gauge, read now and then' },
  {
    file: 'services/events/store/turns.ts',
    text: /is_slow = \$1 AND guild_id >/,
    reason: 'the search for due webhooks, in the background',
  },
  {
    file: 'services/events/store/parked.ts',
    text: /ORDER BY (?:retry_at LIMIT \$2|failing_since)/,
    reason: 'the searches for retries and failing webhooks, in the background',
  },
  {
    file: 'services/events/store/secrets.ts',
    text: /secret_key = ANY/,
    reason: 'the rotation of keys, in the background',
  },
  {
    file: 'services/moderation/store/mirrored-universes.ts',
    text: /FROM moderation\.mirrored_universes\s+WHERE run_at/,
    reason: 'the search for universes that are due, in the background',
  },
  { file: 'services/events/store/stats.ts', text: /FILTER/, reason: 'gauges, read once a minute' },
  {
    file: 'services/events/store/partitions.ts',
    text: /DELETE FROM events\.days/,
    reason: 'retention of the days of all guilds',
  },
  {
    file: 'services/activity/store/guilds.ts',
    text: /next_lapse_at <= \$1/,
    reason: 'a sweep of the lapsed servers of all guilds',
  },
  {
    file: 'services/events/store/streams.ts',
    text: /seen_at < clock_timestamp/,
    reason: 'the streams of processes that died',
  },
  {
    file: 'services/members/store/guild-settings.ts',
    text: /guild_id > \$1 AND mirror_(?:bans_universe_ids|timeouts)/,
    reason: 'pages of guilds, in the background',
  },
  {
    file: 'services/moderation/store/timeout-guilds.ts',
    text: /guild_id > \$1|unnest\(\$1|ANY\(\$1|compared_at IS NULL/,
    reason: 'pages of guilds, in the background',
  },
  {
    file: 'services/moderation/store/mirrored-universes.ts',
    text: /GROUP BY guild_id/,
    reason: 'a page of guilds, in the background',
  },
  {
    file: 'services/members/store/timeout-changes.ts',
    text: /id > \$1|max\(id\)|pg_advisory_xact_lock/,
    reason: 'the changes of all guilds, for moderation',
  },
  { file: 'services/moderation/store/timeout-feed.ts', text: /timeout_feed/, reason: 'the position in these changes' },
  {
    file: 'services/moderation/store/timeouts.ts',
    text: /renew_at <=/,
    reason: 'a sweep of the timeouts of all guilds that have to be extended',
  },
  { file: 'services/moderation/store/reads.ts', text: /conditions\.join/, reason: 'its first condition is the guild' },
];

const STATEMENT = /`((?:\\.|[^`\\])*)`|'((?:\\.|[^'\\\n])*)'/g;
const IS_SQL = /^\s*(?:WITH|SELECT|INSERT INTO|UPDATE|DELETE FROM|MERGE)\b/;

/** A statement with the constants of its file filled in. */
function withConstants(statement: string, text: string): string {
  return statement.replaceAll(/\$\{([A-Z_]+)\}/g, (placeholder, name: string) => {
    const [, value] = new RegExp(`const ${name} =\\s*[\`']([^\`']*)[\`']`).exec(text) ?? [];
    return value ?? placeholder;
  });
}

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

describe('tables', () => {
  it('have primary keys, and every unique index begins with the guild', async () => {
    const tables = await databaseRows<{ table: string; hasKey: boolean }>(
      database.url,
      `SELECT format('%I.%I', nspname, relname) AS table,
         EXISTS (SELECT FROM pg_index WHERE indrelid = pg_class.oid AND indisprimary) AS "hasKey"
       FROM pg_class JOIN pg_namespace ON pg_namespace.oid = relnamespace
       WHERE relkind IN ('r', 'p') AND nspname = ANY($1) AND relname <> 'schema_migrations'`,
      [SERVICES],
    );
    expect(tables.length).toBeGreaterThan(20);
    expect(tables.filter(({ hasKey }) => !hasKey)).toEqual([]);
    const unique = await databaseRows<{ name: string; first: string }>(
      database.url,
      `SELECT format('%I.%I', nspname, index.relname) AS name, attname AS first
       FROM pg_index
       JOIN pg_class index ON index.oid = indexrelid
       JOIN pg_namespace ON pg_namespace.oid = index.relnamespace
       JOIN pg_class owner ON owner.oid = indrelid
       JOIN pg_attribute ON attrelid = indrelid AND attnum = indkey[0]
       WHERE indisunique AND nspname = ANY($1) AND owner.relname <> 'schema_migrations'`,
      [SERVICES],
    );
    const others = unique.filter(({ first }) => first !== 'guild_id').map(({ name }) => name);
    // Operators, the reports of gateways, the lease of the audit feed, sign-ins that have begun, the shards of the chat
    // platform's websocket, and the leases of background loops belong to the installation.
    const leases = SERVICES.map((name) => `${name}.leases_pkey`);
    expect(others.filter((name) => !leases.includes(name)).toSorted()).toEqual([
      'auth.audit_feed_pkey',
      'auth.operators_pkey',
      'auth.request_reporters_pkey',
      'auth.sign_ins_pkey',
      'members.chat_shards_pkey',
      // A universe belongs to one guild.
      'moderation.mirrored_universes_universe',
      // One position for the changes of all guilds.
      'moderation.timeout_feed_pkey',
    ]);
  });
});

describe('statements', () => {
  const readsTables = new RegExp(`(?:FROM|JOIN|INTO|UPDATE)\\s+(?:${SERVICES.join('|')})\\.`);
  const statements = CODE.filter(({ path }) => SERVICES.some((name) => path.startsWith(`services/${name}/`))).flatMap(
    ({ path, text }) =>
      [...text.matchAll(STATEMENT)]
        .map(([, template, quoted]) => withConstants(template ?? quoted ?? '', text))
        .filter((statement) => IS_SQL.test(statement) && readsTables.test(statement))
        .map((statement) => ({ path, statement })),
  );
  const isWithinGuild = (statement: string) =>
    /guild_id"?\s*=|\(\s*guild_id\b|guildId\}\s*=/.test(statement) || /USING \(guild_id/.test(statement);

  it('are found', () => {
    expect(statements.length).toBeGreaterThan(60);
  });

  it('name the guild, except for those that no request runs', () => {
    const others = statements.filter(({ statement }) => !isWithinGuild(statement));
    const unexplained = others.filter(
      ({ path, statement }) => !ACROSS_GUILDS.some(({ file, text }) => file === path && text.test(statement)),
    );
    expect(unexplained).toEqual([]);
  });

  it('listed as exceptions all exist', () => {
    const gone = ACROSS_GUILDS.filter(
      ({ file, text }) => !statements.some(({ path, statement }) => file === path && text.test(statement)),
    );
    expect(gone).toEqual([]);
  });
});
