import { guild } from '../start/01-set-up.ts';
import { created } from './01-create-token.ts';

const link = await guild.redeemVerificationToken({
  code: created.code,
  game_id: 7005,
  game_username: 'EstherRows',
});
console.log(`${link.game_username} is ${link.chat_id}`);
