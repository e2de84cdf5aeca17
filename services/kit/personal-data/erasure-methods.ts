import { z } from 'zod';
import { chatId, guildId } from '#proto/rest/schemas.ts';
import { checked } from '../http/validate.ts';
import { Erasure, type ErasureOptions, type ErasureResult } from './erasure.ts';
import { type ExportedPage, UserExport } from './user-export.ts';
import type { Accounts } from './user-search.ts';

/** The guild ID in an erasure request. Rows that apply to every guild have `''` or `0` instead of a guild ID. */
const guildOrEvery = z.union([z.enum(['', '0']), guildId], { error: 'must be a guild ID' });

const guildRequest = z.object({ guildId, dryRun: z.boolean() });
const accounts = {
  chatId: chatId.optional(),
  gameId: z.int().min(1).max(Number.MAX_SAFE_INTEGER).optional(),
};
const missingAccount = { path: ['chatId'], error: 'or gameId is required' };
const hasAccount = ({ chatId, gameId }: { chatId?: string | undefined; gameId?: number | undefined }) =>
  chatId !== undefined || gameId !== undefined;

/** The request to erase a user: a guild or every guild, and at least one account. */
export const eraseRequest = z
  .object({ guildId: guildOrEvery, dryRun: z.boolean(), ...accounts })
  .refine(hasAccount, missingAccount);
const guildsRequest = z
  .object({ afterGuildId: guildOrEvery.optional(), ...accounts })
  .refine(hasAccount, missingAccount);
const exportRequest = z
  .object({ guildId: guildOrEvery, cursor: z.string().max(2_000), ...accounts })
  .refine(hasAccount, missingAccount);

function accountsOf({ chatId, gameId }: { chatId?: string | undefined; gameId?: number | undefined }): Accounts {
  return { ...(chatId && { chat: chatId }), ...(gameId && { game: String(gameId) }) };
}

/** Creates the gRPC methods that erase and export personal data. Every service with tables serves them. */
export function erasureMethods(options: ErasureOptions) {
  const erasure = new Erasure(options);
  const exported = new UserExport(options);
  return {
    async eraseGuild(message: z.input<typeof guildRequest>): Promise<ErasureResult> {
      const request = checked(guildRequest, message);
      return erasure.eraseGuild(request.guildId, request.dryRun);
    },
    async eraseUser(message: z.input<typeof eraseRequest>): Promise<ErasureResult> {
      const request = checked(eraseRequest, message);
      return erasure.eraseUser(request.guildId, accountsOf(request), request.dryRun);
    },
    async listGuildsOfUser(message: z.input<typeof guildsRequest>) {
      const request = checked(guildsRequest, message);
      return exported.guildsOf(accountsOf(request), request.afterGuildId);
    },
    async exportUser(message: z.input<typeof exportRequest>): Promise<ExportedPage> {
      const request = checked(exportRequest, message);
      return exported.page(request.guildId, accountsOf(request), request.cursor);
    },
  };
}
