import { checked } from '#kit/http/validate.ts';
import type { ErasureOptions } from '#kit/personal-data/erasure.ts';
import { eraseRequest, erasureMethods } from '#kit/personal-data/erasure-methods.ts';
import { isSnowflake } from '#proto/rest/schemas.ts';
import type { ErasedPersons } from '../domain/erased-persons.ts';

/** The methods that erase and export personal data, which also report that a person was erased. */
export function eventsErasureMethods(options: ErasureOptions, persons: ErasedPersons) {
  const methods = erasureMethods(options);
  return {
    ...methods,
    async eraseUser(message: Parameters<typeof methods.eraseUser>[0]) {
      const { guildId, dryRun, chatId, gameId } = checked(eraseRequest, message);
      // Rows that apply to every guild have no guild ID.
      if (!dryRun && isSnowflake(guildId)) await persons.report(guildId, { chatId, gameId });
      return methods.eraseUser(message);
    },
  };
}
