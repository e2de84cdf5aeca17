import { guild } from '../start/01-set-up.ts';

const found = await guild.getLinkByGameId({ gameId: 7005 });
console.log(found.chat_id, found.verified);
