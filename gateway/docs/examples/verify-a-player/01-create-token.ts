import { call, GUILD } from '../start/01-set-up.ts';

export const created = await call<{ token: string; code: string }>('POST', '/api/v1/verification/tokens', {
  guild_id: GUILD,
  chat_id: '920000000000000005',
});
console.log(`Your code is ${created.code}`);
