import type { Persons } from '../limits/persons.ts';
import { removedCookie, SESSION_COOKIE } from './cookies.ts';
import type { ConsoleHandlers } from './endpoint.ts';
import { csrfTokenOf } from './origin.ts';
import type { AuthClient } from './sign-in.ts';
import { roleOf } from './views.ts';

type SessionHandlers = Pick<
  ConsoleHandlers,
  'getSession' | 'listSessions' | 'endSession' | 'signOut' | 'signOutEverywhere'
>;

const SIGNED_OUT = [removedCookie(SESSION_COOKIE)];

/** Returns the handlers of the endpoints about a person's own sessions. */
export function sessionHandlers(auth: AuthClient, persons: Persons, apiUrl: string | null): SessionHandlers {
  return {
    async getSession({ caller }) {
      const { person, sessionId, expiresAt, isOperator, guilds } = await auth.getSession({ caller });
      persons.learn(caller, person?.id ?? '');
      const views = guilds.map(({ guildId, guildName, role }) => ({
        guild_id: guildId,
        guild_name: guildName || null,
        role: roleOf(role),
      }));
      const data = {
        person: { id: person?.id ?? '', name: person?.name ?? '' },
        session_id: sessionId,
        csrf_token: csrfTokenOf(caller.sessionToken),
        expires_at: expiresAt,
        api_url: apiUrl,
        is_operator: isOperator,
        guilds: views,
      };
      return { data };
    },
    async listSessions({ caller }) {
      const { sessions } = await auth.listSessions({ caller });
      const views = sessions.map((session) => ({
        id: session.id,
        is_current: session.isCurrent,
        provider: session.provider,
        created_at: session.createdAt,
        used_at: session.usedAt,
        expires_at: session.expiresAt,
        address: session.address,
        user_agent: session.userAgent,
      }));
      return { data: { sessions: views } };
    },
    async endSession({ caller, params }) {
      return { data: await auth.endSessions({ caller, sessionId: params.sessionId, all: false }) };
    },
    async signOut({ caller }) {
      return { data: await auth.endSessions({ caller, sessionId: '', all: false }), cookies: SIGNED_OUT };
    },
    async signOutEverywhere({ caller }) {
      return { data: await auth.endSessions({ caller, sessionId: '', all: true }), cookies: SIGNED_OUT };
    },
  };
}
