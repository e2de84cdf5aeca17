import { activityRoutes } from './activity.ts';
import { bindingsRoutes } from './bindings.ts';
import { directoryRoutes } from './directory.ts';
import { eventStreamRoutes, eventsRoutes } from './events.ts';
import { gatewayRoutes } from './gateway.ts';
import { guildStateRoutes } from './guild-state.ts';
import { guildsRoutes } from './guilds.ts';
import { invitesRoutes } from './invites.ts';
import { lookupRoutes } from './lookup.ts';
import { membersRoutes } from './members.ts';
import { moderationRoutes } from './moderation.ts';
import { peopleRoutes } from './people.ts';
import { previewRoutes } from './preview.ts';
import type { Route } from './route.ts';
import { settingsRoutes } from './settings.ts';
import { shieldRoutes } from './shield.ts';
import { syncRoutes } from './sync.ts';
import { usageRoutes } from './usage.ts';
import { webhooksRoutes } from './webhooks.ts';

/** The route table: every route of the API. */
export const ROUTES: readonly Route[] = [
  gatewayRoutes,
  lookupRoutes,
  bindingsRoutes,
  membersRoutes,
  invitesRoutes,
  guildsRoutes,
  settingsRoutes,
  directoryRoutes,
  syncRoutes,
  previewRoutes,
  moderationRoutes,
  shieldRoutes,
  peopleRoutes,
  activityRoutes,
  eventsRoutes,
  eventStreamRoutes,
  webhooksRoutes,
  usageRoutes,
  guildStateRoutes,
].flatMap((table): Route[] => Object.values(table));
