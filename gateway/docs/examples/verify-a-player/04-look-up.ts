import { call } from '../start/01-set-up.ts';

const found = await call<{ chat_id: string; verified: boolean }>('GET', '/api/v1/lookup/game/7005');
console.log(found.chat_id, found.verified);
