import { call } from './01-set-up.ts';

const who = await call<{ guild_id: string; scopes: string[] }>('GET', '/api/v1/whoami');
console.log(who.guild_id, who.scopes);
