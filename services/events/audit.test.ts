import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '#kit/clock.ts';
import type { GrpcClient } from '#kit/grpc/client.ts';
import type { Queryable } from '#kit/postgres/pool.ts';
import { ErasureServiceService } from '#proto/gen/guild/common/v1/erasure.ts';
import { connect } from '#test/network/grpc.ts';
import { scansOf } from '#test/postgres/explain.ts';
import { TEST_ADMIN_SECRETS } from '#test/system/signed-calls.ts';
import { EventsFixture, newGuild, recorded, recordedFrom } from './fixture.ts';
import { closeAuditDays, deleteAuditEntries, MAX_PER_DAY, takeAuditEntries } from './store/audit-entries.ts';

const ID = '0d9f6f6e-5a3e-4f0b-8f57-3c1f5b2a7e11';
const CHAT = '920000000000000001';
const OTHER = '920000000000000002';
const KEY = { kind: 'api_key', id: 'service_900000000000000001_k7Qm2xYp', requestId: 'one', address: '203.0.113.9' };
const PERSON = { kind: 'console', id: CHAT, requestId: 'two', address: '203.0.113.9', role: 'admin' };

const fixture = new EventsFixture();
let erasure: GrpcClient<typeof ErasureServiceService>;
let close: () => void;

beforeAll(async () => {
  await fixture.start();
  const address = fixture.events.addresses.grpc ?? '';
  const connected = connect(ErasureServiceService, 'events', address, systemClock, TEST_ADMIN_SECRETS.slice(0, 1));
  erasure = connected.client;
  close = connected.close;
});
afterAll(async () => {
  close();
  await fixture.stop();
});

interface EntryRow {
  action: string;
  source: object;
  persons: string[];
  before: unknown;
  after: unknown;
}
const entriesOf = (guildId: string) =>
  fixture.database.query<EntryRow>(
    'SELECT action, source, persons, before, after FROM events.audit_entries WHERE guild_id = $1 ORDER BY number',
    [guildId],
  );

test('changes for the audit only get no seq, wake no webhook, and are stored once', async () => {
  const guildId = newGuild();
  const events = [
    recorded(1, { source: KEY }),
    recorded(2, { source: KEY, type: 'command.sent' }),
    recorded(3, { source: KEY, before: '{"number":2}' }),
    recorded(4, { source: KEY, type: 'command.cancelled' }),
  ];
  expect(await fixture.append(guildId, events.slice(1, 2))).toBe(1);
  expect(await fixture.append(guildId, events.slice(1))).toBe(2);
  expect(await fixture.append(guildId, events)).toBe(0);
  expect((await fixture.read(guildId)).map(({ seq, source }) => ({ seq, source }))).toEqual([
    { seq: 1, source: { kind: KEY.kind, id: KEY.id } },
  ]);
  expect(await entriesOf(guildId)).toEqual([
    { action: 'command.sent', source: KEY, persons: [], before: null, after: { number: 2 } },
    { action: 'ban.created', source: KEY, persons: [], before: { number: 2 }, after: { number: 3 } },
    { action: 'command.cancelled', source: KEY, persons: [], before: null, after: { number: 4 } },
  ]);
});

test('an earlier service, which sends no fields for the audit, is still understood', async () => {
  const guildId = newGuild();
  const { kind, id } = KEY;
  await fixture.append(guildId, [recorded(1, { source: { kind, id } }), recorded(2, { type: 'server.online' })]);
  expect(await entriesOf(guildId)).toMatchObject([{ action: 'ban.created', source: { kind, id } }]);
});

test('heartbeats, staff actions and expiries of keys, and results of jobs of persons, are not audited', async () => {
  const guildId = newGuild();
  const { requestId: _requestId, ...result } = PERSON;
  const types = ['server.online', 'staff.action', 'session.started', 'ban.expired', 'roles.changed', 'sync.requested'];
  const byKey = types.map((type, index) => recorded(index + 1, { type, source: KEY }));
  await fixture.append(guildId, [...byKey, recorded(9, { type: 'roles.changed', source: result })]);
  expect(await entriesOf(guildId)).toEqual([]);
});

test('a key that changes too much fills the audit of a day up to a limit, and hides no other change', async () => {
  const guildId = newGuild();
  const over = 150;
  for (let first = 1; first <= MAX_PER_DAY + over; first += 50) {
    await fixture.append(guildId, recordedFrom(first, 50, { source: KEY }), 'moderation');
  }
  expect(await entriesOf(guildId)).toHaveLength(MAX_PER_DAY);
  await fixture.append(guildId, [recorded(1, { source: PERSON })], 'bindings');
  expect(await entriesOf(guildId)).toHaveLength(MAX_PER_DAY + 1);
  await fixture.database.query('UPDATE events.audit_days SET day = day - 1 WHERE guild_id = $1', [guildId]);
  while ((await closeAuditDays(fixture.database)) > 0);
  expect((await entriesOf(guildId)).at(-1)).toMatchObject({
    action: 'changes.not_recorded',
    source: { kind: 'api_key', id: KEY.id },
    after: { changes: over },
  });
}, 60_000);

test('erasing a person empties waiting entries that name the person or that the person has caused, and waits for taken ones', async () => {
  const guildId = newGuild();
  await fixture.append(guildId, [
    recorded(1, { source: PERSON, persons: ['game:7'] }),
    recorded(2, { source: KEY, persons: [`chat:${CHAT}`] }),
    recorded(3, { source: KEY, persons: [`chat:${OTHER}`] }),
  ]);
  await takeAuditEntries(fixture.database, String(BigInt(guildId) - 1n), 3_000);
  const started = performance.now();
  const erase = () => erasure.eraseUser({ guildId, dryRun: false, chatId: CHAT });
  for (let isDone = false; !isDone; ) ({ isDone } = await erase());
  expect(performance.now() - started).toBeGreaterThan(1_500);
  const erased = { persons: [], before: null, after: null };
  const { kind, id } = KEY;
  expect(await entriesOf(guildId)).toMatchObject([
    { ...erased, source: { kind: 'console', id: 'erased' } },
    { ...erased, source: { kind, id } },
    { persons: [`chat:${OTHER}`], after: { number: 3 } },
  ]);
  // What the person did stays in the log without the person, what names the person stays without its data.
  expect((await fixture.read(guildId)).map(({ source, data }) => ({ source, data }))).toMatchObject([
    { source: { kind: 'console', id: 'erased' }, data: { number: 1 } },
    { source: { id }, data: { erased: true } },
    { source: { id }, data: { number: 3 } },
    { data: { chat_id: CHAT } },
  ]);
  expect(JSON.stringify(await entriesOf(guildId))).not.toContain(CHAT);
}, 30_000);

test.each([
  ['take', (on: Queryable) => takeAuditEntries(on, '930000000000000100', 1)],
  ['delete', (on: Queryable) => deleteAuditEntries(on, [{ guildId: '930000000000000100', id: ID }])],
  ['close the days', closeAuditDays],
] as const)('on 50,000 entries of many guilds, the statements that %s use only index scans', async (_, run) => {
  await fixture.database.query(
    `INSERT INTO events.audit_entries (guild_id, id, action, service, created_at, source, persons)
     SELECT 930000000000000000 + n % 500, gen_random_uuid(), 'ban.created', 'moderation', now(), '{}', '{}'
     FROM generate_series(1, 50000) AS n WHERE NOT EXISTS (
       SELECT FROM events.audit_entries WHERE guild_id = '930000000000000100')`,
  );
  await fixture.database.query(
    `INSERT INTO events.audit_days SELECT 930000000000000000 + n, current_date + 1, 'key', 1
     FROM generate_series(1, 20000) AS n ON CONFLICT DO NOTHING`,
  );
  await fixture.database.query('ANALYZE events.audit_entries, events.audit_days');
  const scans = await scansOf(fixture.database, run);
  expect(scans.length).toBeGreaterThan(0);
  expect(scans.filter((scan) => scan.includes('Seq'))).toEqual([]);
});
