import { guild } from '../start/01-set-up.ts';

const answer = await guild.listEvents({ types: 'ban.*,link.*', wait: 5 });
for (const { seq, type, data } of answer.events) console.log(seq, type, data);
console.log('continue after', answer.next_after);
