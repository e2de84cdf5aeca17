import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { BindingsFixture, BOOSTER, CAPTAIN, OFFICER, rankBinding } from './fixture.ts';

const fixture = new BindingsFixture();
beforeAll(() => fixture.start());
afterAll(() => fixture.stop());
beforeEach(() => void fixture.nextGuild());
afterEach(() => fixture.calm());

const add = (fields: object) => fixture.add({ chat_role_id: OFFICER, ...fields });

describe('a guild has no two identical bindings and at most 500', () => {
  const identical = {
    status: 409,
    body: { message: 'The guild has an identical binding already', details: { code: 'CONFLICT' } },
  };

  test('same role, type, target and range is identical, whatever its priority', async () => {
    await fixture.added(rankBinding());
    expect(await fixture.add(rankBinding({ priority: 3 }))).toMatchObject(identical);
    for (const other of [{ chat_role_id: CAPTAIN }, { game_group_id: 502 }, { min_rank: 51 }, { max_rank: 254 }]) {
      await fixture.added(rankBinding(other));
    }
    fixture.nextGuild();
    await fixture.added(rankBinding());
  });

  test.each([
    { binding_type: 'gamepass', game_gamepass_id: 601 },
    { binding_type: 'account_age', account_age_platform: 'chat', account_age_min_days: 3 },
  ])('also where most columns are null: %j', async (fields) => {
    expect((await add(fields)).status).toBe(201);
    expect(await add(fields)).toMatchObject(identical);
  });

  test('of 12 identical ones at the same time one is added', async () => {
    const answers = await Promise.all(Array.from({ length: 12 }, () => fixture.add(rankBinding())));
    expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([201, ...Array(11).fill(409)]);
    expect(await fixture.stored()).toBe(1);
  });

  test('of 12 different ones at the same time those up to the 500th are added, on two replicas', async () => {
    const replica = await fixture.startBindings();
    await fixture.query(
      `INSERT INTO bindings.bindings (guild_id, chat_role_id, type, asset_id, created_at, updated_at)
       SELECT $1, $2, 'asset', n, now(), now() FROM generate_series(1, 495) n`,
      [fixture.guild, OFFICER],
    );
    const ranks = Array.from({ length: 12 }, (_, index) => index);
    const answers = await Promise.all(
      ranks.map((rank) => fixture.add(rankBinding({ min_rank: rank }), { at: rank % 2 ? replica : fixture.bindings })),
    );
    expect(answers.map(({ status }) => status).sort((a, b) => a - b)).toEqual([
      ...Array(5).fill(201),
      ...Array(7).fill(409),
    ]);
    expect(answers.find(({ status }) => status === 409)?.body.message).toBe(
      'The guild has 500 bindings, which is the most: remove one first',
    );
    expect(await fixture.stored()).toBe(500);
    await replica.stop();
  });
});

describe('with an Idempotency-Key', () => {
  test('a repeat gets the first answer and adds nothing, also when the platforms are down by then', async () => {
    const first = await fixture.add(rankBinding(), { key: 'once' });
    await fixture.game.fault('', { status: 500 });
    await fixture.chat.fault('', { status: 500 });
    const again = await fixture.add(rankBinding(), { key: 'once' });
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect([again.status, again.body]).toEqual([201, first.body]);
    expect(await fixture.stored()).toBe(1);
    expect((await fixture.add(rankBinding({ priority: 1 }), { key: 'once' })).status).toBe(409);
  });

  test('of equal ones at the same time one is added; the others are told to come again', async () => {
    const answers = await Promise.all(Array.from({ length: 6 }, () => fixture.add(rankBinding(), { key: 'burst' })));
    const isReplay = ({ headers }: (typeof answers)[number]) => headers.get('idempotency-replayed') === 'true';
    expect(answers.filter((answer) => answer.status === 201 && !isReplay(answer))).toHaveLength(1);
    for (const { status, headers } of answers.filter((answer) => answer.status !== 201)) {
      expect([status, headers.get('retry-after')]).toEqual([409, '1']);
    }
    expect(await fixture.stored()).toBe(1);
  });

  test('a role that can not be given stays refused', async () => {
    const give = () => fixture.add(rankBinding({ chat_role_id: BOOSTER }), { key: 'managed' });
    expect((await give()).status).toBe(422);
    const again = await give();
    expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([422, 'true']);
  });
});
