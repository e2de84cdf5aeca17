import { guild } from './01-set-up.ts';

const who = await guild.whoami();
console.log(who.guild_id, who.scopes);
