import type { ConsoleAction } from '#proto/console/roles.ts';
import { actAs } from '../domain/audit/acting-person.ts';
import type { ConsoleSessions } from '../domain/console/sessions.ts';

/** Identifies the session and the request of a browser. */
export interface Caller {
  sessionToken: string;
  address: string;
  requestId: string;
}

/** Returns the function that runs the work of a person's call. */
export function personCalls(sessions: ConsoleSessions) {
  return {
    /**
     * Runs `work` for the person with this session. Throws NOT_SIGNED_IN, and ROLE_TOO_LOW if the person's role in the
     * guild does not allow the action.
     */
    asPerson: async <Result>(
      { sessionToken, address, requestId }: Caller,
      guildId: string,
      action: ConsoleAction,
      work: () => Promise<Result>,
    ): Promise<Result> => {
      const { session, role } = await sessions.require(sessionToken, guildId, action);
      return actAs({ id: session.personId, role, address, requestId }, work);
    },
  };
}
