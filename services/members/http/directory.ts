import type { HttpHandlers } from '#kit/http/app.ts';
import { ok } from '#kit/http/envelope.ts';
import type { directoryRoutes } from '#proto/rest/directory.ts';
import type { PeopleSearch } from '../domain/people-search.ts';
import type { PersonNames } from '../domain/person-names.ts';
import type { RoleExplanations } from '../domain/role-explanations.ts';
import { explainedRoleView, personView } from './views.ts';

export interface DirectoryHandlersOptions {
  search: PeopleSearch;
  names: PersonNames;
  explanations: RoleExplanations;
}

/** The handlers of the REST routes in proto/rest/directory.ts. */
export function directoryHandlers({
  search,
  names,
  explanations,
}: DirectoryHandlersOptions): HttpHandlers<typeof directoryRoutes> {
  return {
    async searchPeople({ guildId, query }) {
      const { people, incomplete } = await search.find(guildId, query.query);
      return ok({ people: people.map(personView), incomplete });
    },
    async resolveNames({ guildId, body }) {
      const { chat, game, incomplete } = await names.resolve(guildId, body.chat_ids ?? [], body.game_ids ?? []);
      return ok({ chat_names: Object.fromEntries(chat), game_names: Object.fromEntries(game), incomplete });
    },
    async explainRoles({ guildId, params }) {
      const { chatId } = params;
      const { link, roles } = await explanations.explain({ guildId, chatId });
      return ok({
        chat_id: chatId,
        game_id: link?.gameId ?? null,
        game_username: link?.gameUsername ?? null,
        roles: roles.map(explainedRoleView),
      });
    },
  };
}
