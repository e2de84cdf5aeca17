import { guild } from '../start/01-set-up.ts';

export const created = await guild.createVerificationToken({ chat_id: '920000000000000005' });
console.log(`Your code is ${created.code}`);
