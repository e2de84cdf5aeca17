import { call } from '../start/01-set-up.ts';

interface Events {
  events: { seq: number; type: string; data: object }[];
  next_after: number;
}

let after = 0;
const answer = await call<Events>('GET', `/api/v1/events?types=ban.*,link.*&after=${after}&wait=5`);
for (const { seq, type, data } of answer.events) console.log(seq, type, data);
after = answer.next_after;
console.log('continue after', after);
