import { bansSince, readBans } from './01-copy-bans.ts';

const next = await readBans(bansSince);
console.log('read again from', next);
