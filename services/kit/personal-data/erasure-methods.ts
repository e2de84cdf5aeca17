import { z } from 'zod';
import { checked } from '../http/validate.ts';
import { type Erased, Erasure, type ErasureOptions } from './erasure.ts';
import { type ExportedPage, UserExport } from './user-export.ts';
import type { Accounts } from './user-search.ts';

const GUILD_ID = /^[1-9][0-9]{16,19}$/;
const guildId = z.string().regex(GUILD_ID, { error: 'must be a guild ID' });
/** Rows that count in every guild have an ID that is no guild's. */
const guildOrEvery = z.union([z.enum(['', '0']), guildId], { error: 'must be a guild ID' });

const guildRequest = z.object({ guildId, dryRun: z.boolean() });
const accounts = {
  chatId: z.string().regex(GUILD_ID, { error: 'must be a chat ID' }).optional(),
  gameId: z.int().min(1).max(Number.MAX_SAFE_INTEGER).optional(),
};
const someAccount = { path: ['chatId'], error: 'or gameId is required' };
const isSomebody = ({ chatId, gameId }: { chatId?: string | undefined; gameId?: number | undefined }) =>
  chatId !== undefined || gameId !== undefined;

const eraseRequest = z
  .object({ guildId: guildOrEvery, dryRun: z.boolean(), ...accounts })
  .refine(isSomebody, someAccount);
const guildsRequest = z.object({ afterGuildId: guildOrEvery.optional(), ...accounts }).refine(isSomebody, someAccount);
const exportRequest = z
  .object({ guildId: guildOrEvery, cursor: z.string().max(2_000), ...accounts })
  .refine(isSomebody, someAccount);

function accountsOf({ chatId, gameId }: { chatId?: string | undefined; gameId?: number | undefined }): Accounts {
  return { ...(chatId && { chat: chatId }), ...(gameId && { game: String(gameId) }) };
}

/** The methods of the erasure contract, which every service with tables answers. */
export function erasureMethods(options: ErasureOptions) {
  const erasure = new Erasure(options);
  const exported = new UserExport(options);
  return {
    async eraseGuild(message: z.input<typeof guildRequest>): Promise<Erased> {
      const asked = checked(guildRequest, message);
      return erasure.eraseGuild(asked.guildId, asked.dryRun);
    },
    async eraseUser(message: z.input<typeof eraseRequest>): Promise<Erased> {
      const asked = checked(eraseRequest, message);
      return erasure.eraseUser(asked.guildId, accountsOf(asked), asked.dryRun);
    },
    async listGuildsOfUser(message: z.input<typeof guildsRequest>) {
      const asked = checked(guildsRequest, message);
      return exported.guildsOf(accountsOf(asked), asked.afterGuildId);
    },
    async exportUser(message: z.input<typeof exportRequest>): Promise<ExportedPage> {
      const asked = checked(exportRequest, message);
      return exported.page(asked.guildId, accountsOf(asked), asked.cursor);
    },
  };
}
