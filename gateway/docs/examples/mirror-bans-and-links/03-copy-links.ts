import { call, GUILD } from '../start/01-set-up.ts';

interface LinkPage {
  users: { chat_id: string; game_id: number }[];
  unlinked?: { chat_id: string; game_id: number }[];
  server_time: number;
}

const links = await call<LinkPage>('GET', `/api/v1/guilds/${GUILD}/verified?limit=100`);
const changed = await call<LinkPage>('GET', `/api/v1/guilds/${GUILD}/verified?updated_since=${links.server_time}`);
console.log(links.users, changed.users, changed.unlinked);
