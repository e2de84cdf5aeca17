import { guild } from '../start/01-set-up.ts';

let after = 0;
const answer = await guild.listEvents({ types: 'ban.*,link.*', after, wait: 5 });
for (const { seq, type, data } of answer.events) console.log(seq, type, data);
after = answer.next_after;
console.log('continue after', after);
