import { type ComponentChildren, createContext } from 'preact';
import { useContext, useMemo } from 'preact/hooks';
import {
  CONSOLE_ACTIONS,
  type ConsoleAction,
  type GuildRole,
  includesGuildRole,
  ROLE_SCOPES,
} from '#proto/console/roles.ts';
import { grantsScope, type Scope } from '#proto/rest/scopes.ts';
import { type Rest, restOf } from '../api/rest.ts';
import { shellTexts } from '../texts.ts';

export interface Guild {
  id: string;
  name: string;
  /** The role of the person who is signed in. */
  role: GuildRole;
  /** For the functions of the REST API: `listRoles(guild.rest)`. */
  rest: Rest;
  /** True if the role may call REST routes with this scope. Routes that write without a scope need `sync:write`. */
  hasScope: (scope: Scope) => boolean;
  /** True if the role may do this in the console. */
  may: (action: ConsoleAction) => boolean;
  /** The path of a page of this guild: `path('people')`. */
  path: (page: string) => string;
}

const Context = createContext<Guild | null>(null);

/** The guild of the current page. */
export function useGuild(): Guild {
  const guild = useContext(Context);
  if (!guild) throw new Error('this component is used outside of a guild');
  return guild;
}

export function GuildProvider(props: {
  id: string;
  name: string | null;
  role: GuildRole;
  children: ComponentChildren;
}) {
  const { id, name, role, children } = props;
  const guild = useMemo<Guild>(
    () => ({
      id,
      name: name ?? shellTexts.unnamedGuild(id),
      role,
      rest: restOf(id),
      hasScope: (scope) => grantsScope(ROLE_SCOPES[role], scope),
      may: (action) => includesGuildRole(role, CONSOLE_ACTIONS[action]),
      path: (page) => `/guilds/${id}/${page}`,
    }),
    [id, name, role],
  );
  return <Context.Provider value={guild}>{children}</Context.Provider>;
}
