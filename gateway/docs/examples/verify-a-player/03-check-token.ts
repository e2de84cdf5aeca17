import { guild } from '../start/01-set-up.ts';
import { created } from './01-create-token.ts';

const token = await guild.getVerificationToken({ token: created.token });
console.log(token.status);
