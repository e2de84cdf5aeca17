// Wrong calls that the types of openapi-typescript reject, each next to a right one. The file is compiled, not run.
import createClient from 'openapi-fetch';
import type { paths } from '../build/openapi-typescript.js';

const client = createClient<paths>({ baseUrl: 'https://data.guild.test' });
const guild_id = '900000000000000001';
const chat_id = '920000000000000001';
const game_id = 7001;
const chat_role_id = '910000000000000001';
const reason = 'Used speed hacks';
const params = { path: { guildId: guild_id } };
const account_age_min_days = 30;

export async function wrongCalls(): Promise<void> {
  await client.POST('/api/v1/sync/roles', { body: { guild_id, chat_id } });
  // @ts-expect-error A sync needs the ID of a member.
  await client.POST('/api/v1/sync/roles', { body: { guild_id } });

  await client.POST('/api/v1/reverse', { body: { guild_id, game_id } });
  // @ts-expect-error A reverse lookup is by one ID, not by both.
  await client.POST('/api/v1/reverse', { body: { guild_id, chat_id, game_id } });

  const age = { binding_type: 'account_age', account_age_platform: 'game', account_age_min_days } as const;
  await client.POST('/api/v1/bindings/add', { body: { guild_id, chat_role_id, ...age } });
  // @ts-expect-error A binding to the age of an account needs its platform and the days.
  await client.POST('/api/v1/bindings/add', { body: { guild_id, chat_role_id, binding_type: 'account_age' } });

  const ban = '/api/v1/moderation/{guildId}/game/ban';
  await client.POST(ban, { params, body: { game_id, reason, duration: '14d' } });
  // @ts-expect-error A duration has a number and one of four units, without a space.
  await client.POST(ban, { params, body: { game_id, reason, duration: '2 weeks' } });

  await client.POST(ban, { params, body: { game_id, reason, scope: 'place', place_id: 40001 } });
  // @ts-expect-error The scope `place` needs a place.
  await client.POST(ban, { params, body: { game_id, reason, scope: 'place' } });
}
