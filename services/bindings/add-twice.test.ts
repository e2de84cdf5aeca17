import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { BindingsFixture, BOOSTER, CAPTAIN, OFFICER, rankBinding } from './fixture.ts';

const fixture = new BindingsFixture();
beforeAll(() => fixture.start());
afterAll(() => fixture.stop());
beforeEach(() => void fixture.nextGuild());
afterEach(() => fixture.calm());

const add = (fields: object) => fixture.add({ chat_role_id: OFFICER, ...fields });

describe('a guild has at most 500 bindings, and no two identical ones', () => {
  const identical = {
    status: 409,
    body: { message: 'The guild has an identical binding already', details: { code: 'CONFLICT' } },
  };

  test('bindings with the same role, type, target and range are identical, even with another priority', async () => {
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
  ])('identical bindings are a CONFLICT even if most columns are null: %j', async (fields) => {
    expect((await add(fields)).status).toBe(201);
    expect(await add(fields)).toMatchObject(identical);
  });

  test('one of 12 concurrent identical bindings is added', async () => {
    const responses = await Promise.all(Array.from({ length: 12 }, () => fixture.add(rankBinding())));
    expect(responses.map(({ status }) => status).sort((a, b) => a - b)).toEqual([201, ...Array(11).fill(409)]);
    expect(await fixture.stored()).toBe(1);
  });

  test('concurrent different bindings on two replicas are added up to the 500th', async () => {
    const replica = await fixture.startBindings();
    await fixture.query(
      `INSERT INTO bindings.bindings (guild_id, chat_role_id, type, asset_id, created_at, updated_at)
       SELECT $1, $2, 'asset', n, now(), now() FROM generate_series(1, 495) n`,
      [fixture.guild, OFFICER],
    );
    const ranks = Array.from({ length: 12 }, (_, index) => index);
    const responses = await Promise.all(
      ranks.map((rank) => fixture.add(rankBinding({ min_rank: rank }), { at: rank % 2 ? replica : fixture.bindings })),
    );
    expect(responses.map(({ status }) => status).sort((a, b) => a - b)).toEqual([
      ...Array(5).fill(201),
      ...Array(7).fill(409),
    ]);
    expect(responses.find(({ status }) => status === 409)?.body.message).toBe(
      'The guild has 500 bindings, which is the most: remove one first',
    );
    expect(await fixture.stored()).toBe(500);
    await replica.stop();
  });
});

describe('with an Idempotency-Key', () => {
  test('a repeat gets the first response and adds nothing, even while the platforms are down', async () => {
    const first = await fixture.add(rankBinding(), { key: 'once' });
    await fixture.game.fault('', { status: 500 });
    await fixture.chat.fault('', { status: 500 });
    const again = await fixture.add(rankBinding(), { key: 'once' });
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect([again.status, again.body]).toEqual([201, first.body]);
    expect(await fixture.stored()).toBe(1);
    expect((await fixture.add(rankBinding({ priority: 1 }), { key: 'once' })).status).toBe(409);
  });

  test('one of concurrent equal requests is executed; the others get 409 with Retry-After', async () => {
    const responses = await Promise.all(Array.from({ length: 6 }, () => fixture.add(rankBinding(), { key: 'burst' })));
    const isReplay = ({ headers }: (typeof responses)[number]) => headers.get('idempotency-replayed') === 'true';
    expect(responses.filter((response) => response.status === 201 && !isReplay(response))).toHaveLength(1);
    for (const { status, headers } of responses.filter((response) => response.status !== 201)) {
      expect([status, headers.get('retry-after')]).toEqual([409, '1']);
    }
    expect(await fixture.stored()).toBe(1);
  });

  test('the rejection of a role that is not assignable is stored and repeated', async () => {
    const give = () => fixture.add(rankBinding({ chat_role_id: BOOSTER }), { key: 'managed' });
    expect((await give()).status).toBe(422);
    const again = await give();
    expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([422, 'true']);
  });
});
