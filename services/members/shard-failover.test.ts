// Guarantees when the owner of a shard of the websocket dies or stalls: another process continues within the lease, nothing
// is missed, and no two owners write.
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { withinBound } from '#test/measure/bounds.ts';
import { PATIENCE } from '#test/patience.ts';
import type { ReplicaProcess } from '#test/system/replica-process.ts';
import { GUILD, MembersFixture } from './fixture.ts';

const OFFICER = '910000000000000001';
const VERIFIED = '910000000000000006';
/** The lease of 10 s, the next claim, and the way to the platform. */
const TAKEOVER_MS = 13_000;
const TAKEOVER = { timeout: 60_000, interval: 50 };

const fixture = new MembersFixture();
let processes: ReplicaProcess[];

beforeAll(async () => {
  await fixture.start();
  // Records the connection and the owner of each write of events.
  await fixture.query(
    'CREATE TABLE writes (number bigserial, connection integer, holder uuid, session text, sequence bigint)',
  );
  await fixture.query(
    `CREATE FUNCTION record_write() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
       INSERT INTO writes (connection, holder, session, sequence)
       VALUES (pg_backend_pid(), NEW.holder, NEW.session_id, NEW.sequence);
       RETURN NEW;
     END $$`,
  );
  await fixture.query(
    `CREATE TRIGGER record_write BEFORE UPDATE ON members.chat_shards FOR EACH ROW
     WHEN (OLD.sequence IS DISTINCT FROM NEW.sequence) EXECUTE FUNCTION record_write()`,
  );
});
afterAll(() => fixture.stop());
beforeEach(() => {
  processes = [];
});
afterEach(async () => {
  for (const { kill } of processes) await kill();
  await fixture.query('UPDATE members.chat_shards SET leased_until = now(), live_until = now(), session_id = NULL');
  await fixture.query('DELETE FROM members.mirror_guilds');
});

const control = async (path: string, body: object) => {
  const response = await fetch(fixture.simulators.chat + path, { method: 'POST', body: JSON.stringify(body) });
  if (!response.ok) throw new Error(await response.text());
};
const change = (action: 'join' | 'leave' | 'update', user: string, fields: object = {}) =>
  control('/__members', { guild: GUILD, user, action, ...fields });
const shard = async () =>
  (await fixture.query('SELECT holder, epoch, live_until > clock_timestamp() AS live FROM members.chat_shards'))[0] as
    | { holder: string | null; epoch: string; live: boolean }
    | undefined;
const rolesOf = async (chatId: string) =>
  (
    await fixture.query(
      'SELECT roles FROM members.mirror_members WHERE guild_id = $1 AND chat_id = $2 AND left_at IS NULL',
      [GUILD, chatId],
    )
  )[0]?.['roles'];

let last = 0;
const newUser = () => String(927000000000000000n + BigInt(++last));

async function startOwner(): Promise<ReplicaProcess> {
  const started = await fixture.startMembersProcess({ CHAT_GATEWAY_ENABLED: 'true' });
  processes.push(started);
  return started;
}

/** Starts the owner of the shard and another process, in a guild that uses the service. */
async function startBoth(): Promise<{ owner: ReplicaProcess; holder: string | null; epoch: string }> {
  const owner = await startOwner();
  await fixture.useMirroredGuild();
  await startOwner();
  const { holder = null, epoch = '' } = (await shard()) ?? {};
  return { owner, holder, epoch };
}

/** Waits until another process is the owner and live. Returns the milliseconds since `from`. */
async function takeover(from: number, holder: string | null): Promise<number> {
  await vi.waitUntil(async () => {
    const now = await shard();
    return now?.live === true && now.holder !== holder;
  }, TAKEOVER);
  return performance.now() - from;
}

test('after kill -9 of the owner another process resumes its session within the lease, and no event is missing', async () => {
  const { owner, holder, epoch } = await startBoth();
  const [stays, leaves] = [newUser(), newUser()];
  await change('join', leaves, { username: 'leaves' });
  await vi.waitUntil(() => rolesOf(leaves), PATIENCE);
  const killedAt = performance.now();
  await owner.kill('SIGKILL');
  await change('join', stays, { username: 'stays' });
  await change('update', stays, { roles: [OFFICER] });
  await change('leave', leaves);
  await change('update', stays, { roles: [OFFICER, VERIFIED] });
  withinBound('from kill -9 of the owner of a shard to a live mirror', await takeover(killedAt, holder), TAKEOVER_MS);
  expect(await rolesOf(stays)).toEqual([OFFICER, VERIFIED]);
  expect(await rolesOf(leaves)).toBeUndefined();
  expect((await shard())?.epoch).toBe(epoch);
});

test('if the session of a killed owner cannot be resumed, the guild is read again, and older rows are not current', async () => {
  const { owner, holder, epoch } = await startBoth();
  const user = newUser();
  await change('join', user, { username: 'unseen' });
  await vi.waitUntil(() => rolesOf(user), PATIENCE);
  await owner.kill('SIGKILL');
  await control('/__gateway', { action: 'forget' });
  await change('update', user, { roles: [OFFICER] });
  await takeover(performance.now(), holder);
  expect((await shard())?.epoch).not.toBe(epoch);
  // The websocket sends the event GUILD_CREATE some time after the new session is ready.
  const current = async () => {
    const rows = await fixture.query(
      `SELECT g.session_epoch = s.epoch AS guild, m.epoch = g.epoch AS member FROM members.mirror_guilds AS g
       JOIN members.chat_shards AS s USING (shard_count, shard_id)
       JOIN members.mirror_members AS m ON m.guild_id = g.guild_id AND m.chat_id = $2 WHERE g.guild_id = $1`,
      [GUILD, user],
    );
    return rows[0];
  };
  await expect.poll(current, PATIENCE).toEqual({ guild: true, member: false });
});

test('an owner that stalls for longer than its lease writes nothing any more when it goes on', async () => {
  const { owner, holder, epoch } = await startBoth();
  await fixture.query('DELETE FROM writes');
  const user = newUser();
  await change('join', user, { username: 'stalled' });
  await vi.waitUntil(() => rolesOf(user), PATIENCE);
  process.kill(owner.pid, 'SIGSTOP');
  // The stalled process still gets these on its connection.
  for (let round = 0; round < 20; round++) await change('update', user, { roles: round % 2 ? [OFFICER] : [VERIFIED] });
  await takeover(performance.now(), holder);
  process.kill(owner.pid, 'SIGCONT');
  await change('update', user, { roles: [OFFICER, VERIFIED] });
  await expect.poll(() => rolesOf(user), PATIENCE).toEqual([OFFICER, VERIFIED]);
  const next = newUser();
  await change('join', next, { username: 'after' });
  await expect.poll(() => rolesOf(next), PATIENCE).toEqual([]);
  expect((await shard())?.epoch).toBe(epoch);
  const writes = (await fixture.query('SELECT connection, holder, sequence::integer FROM writes ORDER BY number')) as {
    connection: number;
    holder: string;
    sequence: number;
  }[];
  const holders = [...new Set(writes.map((write) => write.holder))];
  expect(holders).toHaveLength(2);
  // No connection has written for two owners, the second owner wrote only after the first, and no position was repeated.
  expect(new Set(writes.map((write) => `${write.connection} ${write.holder}`)).size).toBe(
    new Set(writes.map((write) => write.connection)).size,
  );
  const changes = writes.filter((write, index) => write.holder !== writes[index - 1]?.holder);
  expect(changes.map((write) => write.holder)).toEqual(holders);
  const sequences = writes.map((write) => write.sequence);
  expect(sequences).toEqual([...new Set(sequences)].toSorted((one, other) => one - other));
});
