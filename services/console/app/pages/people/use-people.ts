import { searchPeople } from '#clients/typescript/src/operations.ts';
import type { FoundPerson, SearchPeopleResult } from '#clients/typescript/src/operations-types.ts';
import { ApiError } from '../../api/errors.ts';
import type { Rest } from '../../api/rest.ts';
import { type Loaded, useData } from '../../api/use-data.ts';
import { useGuild } from '../../shell/guild.tsx';
import { isChatId, isGameId, personOfId } from './accounts.ts';

const NOBODY: SearchPeopleResult = { people: [], incomplete: [] };

/** Persons by an ID or a name; nobody for an empty text. */
export function usePeople(query: string): Loaded<SearchPeopleResult> {
  const { rest } = useGuild();
  return useData(
    (signal) => (query === '' ? Promise.resolve(NOBODY) : searchPeople(rest, { query }, { signal })),
    [query],
  );
}

export interface Identity {
  person: FoundPerson;
  /** True if a platform did not respond, so that names or a link may be missing. */
  isIncomplete: boolean;
}

/** The accounts of the person with this ID. Somebody whom no platform knows has just this ID. */
export async function identify(rest: Rest, id: string, signal: AbortSignal): Promise<Identity | null> {
  if (!isChatId(id) && !isGameId(id)) return null;
  try {
    const { people, incomplete } = await searchPeople(rest, { query: id }, { signal });
    return { person: people[0] ?? personOfId(id), isIncomplete: incomplete.length > 0 };
  } catch (error) {
    // A platform that does not respond must not keep a moderator from a person whose ID is known.
    if (error instanceof ApiError && error.status >= 500) return { person: personOfId(id), isIncomplete: true };
    throw error;
  }
}
