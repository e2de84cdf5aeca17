import { appendFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { connected, contentOf, schemaOf } from './content.ts';
import { describeInstallations, runCommands } from './installation.ts';
import { createDatabase, DATABASE, migrate, OWNER } from './installed-system.ts';
import { blocksOf, inlineCommand, settingsIn } from './page.ts';
import { createFolder, createServerFolder, removeFolder, Server } from './server.ts';

const WAIT = { timeout: 120_000, interval: 20 };
const GUILD = '900000000000000001';

/** The commands and settings of deploy/operations/backup.md, as an operator copies them. */
describeInstallations((installation) => {
  let folder: string;
  let primary: Server;
  let servers: Server[];

  /** Text of the page with the folders of this test instead of /archive and /backups. */
  const here = (text = '') => text.replaceAll(/\/(archive|backups)\b/g, join(folder, '$1'));
  const started = (server: Server) => {
    servers.push(server);
    return server;
  };
  const run = (commands: string | undefined, server: Server) =>
    runCommands(installation, here(commands), {
      folder,
      variables: {
        DATABASE_URL: server.url(DATABASE, OWNER),
        ADMIN_URL: server.url('postgres'),
        REPLICATION_URL: server.url('postgres'),
      },
    });

  beforeEach(async () => {
    folder = createServerFolder();
    servers = [];
    createFolder(join(folder, 'archive'));
    createFolder(join(folder, 'backups'));
    const [settings] = blocksOf('Back up by WAL');
    primary = started(
      await Server.create(installation, join(folder, 'primary'), { settings: settingsIn(here(settings)) }),
    );
    await createDatabase(primary);
    await migrate(primary);
    await link(primary, '1');
  });

  afterEach(async () => {
    for (const server of servers.toReversed()) await server.stop();
    removeFolder(folder);
  });

  test('a dump by the commands of the page is restored by them, on the same server and on another one', async () => {
    await run(blocksOf('Back up by dumps')[0], primary);
    const content = await connected(primary.url(DATABASE), contentOf);
    const schema = await schemaOf(primary, DATABASE);
    await link(primary, '2');

    const [emptied = ''] = blocksOf('Restore a dump');
    const restore = inlineCommand('pg_restore ');
    await run(emptied, primary);
    await run(restore, primary);
    expect((await connected(primary.url(DATABASE), contentOf)).tables).toEqual(content.tables);
    expect(await schemaOf(primary, DATABASE)).toEqual(schema);
    expect(await migrate(primary)).toEqual([]);

    const other = started(await Server.create(installation, join(folder, 'other')));
    await run(inlineCommand('psql --file'), other);
    await run(emptied.replace(/-c 'ALTER DATABASE [^']*'/, ''), other);
    await run(restore, other);
    expect((await connected(other.url(DATABASE), contentOf)).tables).toEqual(content.tables);
    expect(await schemaOf(other, DATABASE)).toEqual(schema);
    expect(await migrate(other)).toEqual([]);
  });

  test('a base backup by the command of the page is restored to a moment by its settings', async () => {
    await run(blocksOf('Back up by WAL')[1], primary);
    await link(primary, '2');
    const content = await connected(primary.url(DATABASE), contentOf);
    const moment = await now(primary);
    await link(primary, '3');
    await archived(primary);

    const [base = ''] = readdirSync(join(folder, 'backups'));
    const target = join(folder, 'backups', base);
    const [settings = ''] = blocksOf('Restore to a moment');
    expect(settings).toContain('recovery_target_time');
    appendFileSync(
      join(target, 'postgresql.conf'),
      `\n${here(settings).replace(/(?<=recovery_target_time = ')[^']*/, moment)}\n`,
    );
    const restored = started(await Server.start(installation, target, { signal: 'recovery.signal' }));
    expect((await connected(restored.url(DATABASE), contentOf)).tables).toEqual(content.tables);
    expect(await schemaOf(restored, DATABASE)).toEqual(await schemaOf(primary, DATABASE));
    expect(await migrate(restored)).toEqual([]);
  });
});

/** Stores a link of a chat account, so that a backup has a row. */
async function link(server: Server, gameId: string): Promise<void> {
  const statement = `INSERT INTO lookup.links (guild_id, chat_id, game_id, game_username, version, linked_at, updated_at)
    VALUES ($1, $2::text, $2::text::bigint, 'sailor', 1, now(), now())`;
  await connected(server.url(DATABASE), (client) => client.query(statement, [GUILD, gameId]));
}

async function now(server: Server): Promise<string> {
  const statement = 'SELECT clock_timestamp()::text AS now';
  const { rows } = await connected(server.url(DATABASE), (client) => client.query<{ now: string }>(statement));
  return rows[0]?.now ?? '';
}

/** Waits until everything that was written so far is archived. */
async function archived(server: Server): Promise<void> {
  await connected(server.url('postgres'), async (client) => {
    const { rows } = await client.query<{ segment: string }>('SELECT pg_walfile_name(pg_switch_wal()) AS segment');
    await vi.waitUntil(async () => {
      const statement = 'SELECT last_archived_wal >= $1 AS done FROM pg_stat_archiver';
      return (await client.query<{ done: boolean }>(statement, [rows[0]?.segment])).rows[0]?.done === true;
    }, WAIT);
  });
}
