import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { scrape } from '#test/measure/metrics.ts';
import { startTcpProxy } from '#test/network/tcp-proxy.ts';
import type { ReplicaProcess } from '#test/system/replica-process.ts';
import { GUILD, portOf } from './fixture.ts';
import { chatIdOf, DECK } from './fixtures/crew.ts';
import { JobsFixture, until } from './fixtures/jobs.ts';

const GIVE = 'PUT /api/v10/guilds/:guild/members/:user/roles/:role';

const fixture = new JobsFixture();
let ticking: NodeJS.Timeout;

const followRealTime = () => fixture.clock.advance(Date.now() - fixture.clock.now());
/** The processes that are killed use the real time, and so does everything until then. */
beforeEach(async () => {
  await fixture.returnToRealTime();
  ticking = setInterval(followRealTime, 100);
});
beforeAll(() => fixture.start());
afterEach(async () => {
  clearInterval(ticking);
  await fixture.calm();
});
afterAll(() => fixture.stop());

async function kill(replica: ReplicaProcess): Promise<void> {
  await replica.kill();
  clearInterval(ticking);
}
const given = async () => (await fixture.chat.calls())[GIVE] ?? 0;
const tasks = async () => (await fixture.query('SELECT 1 FROM members.role_tasks')).length;
/** Links the member, and waits until a sync has granted its role. */
async function linked(): Promise<void> {
  await fixture.link(chatIdOf(1), 1);
  await until(async () => (await rolesOf(1))?.includes(DECK) === true && (await tasks()) === 0);
}
const rolesOf = async (number: number) => (await fixture.roles()).get(chatIdOf(number));

test('kill -9 during a job: another process continues it at its position, and no role is granted twice', async () => {
  const members = 60;
  await fixture.settle(members);
  await fixture.bindRank(DECK, { min: 10 });
  // No other process can take the job while this one lives.
  await fixture.members.stop();
  const killed = await fixture.startMembersProcess();
  await fixture.chat.fault('/roles/', { delay_ms: 50 });
  const response = await fixture.startJob({ at: killed.at });
  expect([response.status, response.body.data.total]).toEqual([202, members]);
  await expect.poll(given, { interval: 10 }).toBeGreaterThan(5);
  await kill(killed);
  const before = await given();
  expect(before).toBeLessThan(members);

  await fixture.chat.forget();
  fixture.members = await fixture.startMembers();
  const job = () => fixture.job(response.body.data.job_id as string);
  // Until its lease ends, the dead process still holds it.
  expect(await job()).toMatchObject({ state: 'running', total: members });
  const doneBefore = (await job())['done'];
  expect(doneBefore).toBeGreaterThan(0);
  await fixture.advance(20_000);
  await expect.poll(job, { timeout: 45_000 }).toMatchObject({ state: 'done', done: members, failed: 0 });
  expect([...(await fixture.roles()).values()]).toEqual(Array.from({ length: members }, () => [DECK]));
  // Only the member whose change was in flight can have been changed without being counted, and is handled again.
  expect((await job())['changed']).toBeGreaterThanOrEqual(members - 1);
  expect((await given()) + before).toBeLessThanOrEqual(members + 1);
}, 120_000);

test('kill -9 while roles are removed: another process removes them within seconds', async () => {
  await fixture.settle(1);
  await fixture.bindRank(DECK, { min: 10 });
  await fixture.query('DELETE FROM lookup.links');
  await linked();
  const killed = await fixture.startMembersProcess();
  await fixture.chat.fault('/roles/', { delay_ms: 4_000, reset: true, times: 1 });
  const response = fixture.unlink({ game_id: 1 }, { at: killed.at }).catch(() => undefined);
  await until(async () => Object.keys(await fixture.chat.calls()).some((name) => name.startsWith('DELETE')));
  await killed.kill();
  await response;
  // The clocks are not moved: a lease of half a minute would keep the role that long.
  await expect.poll(() => rolesOf(1), { timeout: 20_000 }).toEqual([]);
  await expect.poll(tasks).toBe(0);
}, 60_000);

test('a job waits for the lock of a member that a dead process holds, without a pause', async () => {
  await fixture.settle(3);
  await fixture.bindRank(DECK, { min: 10 });
  const pauses = async () => (await scrape(fixture.members))('members_sync_job_pauses_total{code="UNAVAILABLE"}') ?? 0;
  const before = await pauses();
  // Longer than one attempt to get the lock.
  await fixture.query(
    `INSERT INTO members.member_locks (guild_id, chat_id, holder, held_until) VALUES ($1, $2, gen_random_uuid(), clock_timestamp() + interval '9 s')`,
    [GUILD, chatIdOf(2)],
  );
  const id = await fixture.newJob();
  await expect.poll(async () => (await fixture.job(id))['done']).toBe(1);
  expect(await fixture.finished(id)).toMatchObject({ state: 'done', done: 3, changed: 3, failed: 0 });
  expect(await pauses()).toBe(before);
}, 60_000);

test.each(['link', 'redeem', 'unlink'])(
  'kill -9 after lookup made a %s and before it is settled: another process synchronises the roles',
  async (kind) => {
    await fixture.settle(1);
    await fixture.bindRank(DECK, { min: 10 });
    await fixture.query('DELETE FROM lookup.links');
    if (kind === 'unlink') await linked();
    // A linked account cannot get a token.
    const { code } = kind === 'redeem' ? await fixture.token(chatIdOf(1)) : { code: '' };
    const proxy = await startTcpProxy(portOf(fixture.lookup.addresses.grpc));
    const killed = await fixture.startMembersProcess({ LOOKUP_GRPC_ADDRESS: `127.0.0.1:${proxy.port}` });
    const at = { at: killed.at };
    expect((await fixture.get(`/guilds/${GUILD}/verified`, at)).status).toBe(200);
    proxy.dropResponses();
    const calls = {
      link: () => fixture.link(chatIdOf(1), 1, at),
      redeem: () => fixture.redeem({ code }, 1, at),
      unlink: () => fixture.unlink({ chat_id: chatIdOf(1) }, at),
    };
    const response = calls[kind as keyof typeof calls]().catch(() => 'nothing');
    await expect.poll(async () => (await fixture.linkOf(chatIdOf(1))) !== undefined).toBe(kind !== 'unlink');
    await kill(killed);
    expect(await response).toBe('nothing');
    expect(await fixture.openIntents()).toBe(1);
    await fixture.advance(60_000);
    await expect.poll(() => rolesOf(1), { timeout: 45_000 }).toEqual(kind === 'unlink' ? [] : [DECK]);
    await expect.poll(tasks).toBe(0);
    expect(await fixture.openIntents()).toBe(0);
    await fixture.unlink({ chat_id: chatIdOf(1) });
    await proxy.close();
  },
  120_000,
);

test.each(['link', 'unlink'])(
  'kill -9 after a %s is settled and before its roles are synchronised: another process synchronises them',
  async (kind) => {
    await fixture.settle(1);
    await fixture.bindRank(DECK, { min: 10 });
    await fixture.query('DELETE FROM lookup.links');
    if (kind === 'unlink') await linked();
    const killed = await fixture.startMembersProcess();
    await fixture.chat.forget();
    await fixture.chat.fault('/roles/', { delay_ms: 4_000, reset: true, times: 1 });
    const at = { at: killed.at };
    const response = (kind === 'link' ? fixture.link(chatIdOf(1), 1, at) : fixture.unlink({ game_id: 1 }, at)).catch(
      () => undefined,
    );
    const changes = async () => Object.keys(await fixture.chat.calls()).find((name) => name.endsWith('/roles/:role'));
    await expect.poll(changes).toBeDefined();
    await kill(killed);
    await response;
    expect(await tasks()).toBe(1);
    await fixture.chat.forget();
    await fixture.advance(60_000);
    await expect.poll(() => rolesOf(1), { timeout: 45_000 }).toEqual(kind === 'unlink' ? [] : [DECK]);
    await expect.poll(tasks).toBe(0);
    await fixture.unlink({ chat_id: chatIdOf(1) });
  },
  120_000,
);
