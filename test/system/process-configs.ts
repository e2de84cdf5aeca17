import { readGatewayConfig } from '#gateway/config.ts';
import type { Environment } from '#kit/service/config.ts';
import { readActivityConfig } from '#services/activity/config.ts';
import { readAuthConfig } from '#services/auth/config.ts';
import { readBindingsConfig } from '#services/bindings/config.ts';
import { readConsoleConfig } from '#services/console/config.ts';
import { readEventsConfig } from '#services/events/config.ts';
import { readLookupConfig } from '#services/lookup/config.ts';
import { readMembersConfig } from '#services/members/config.ts';
import { readModerationConfig } from '#services/moderation/config.ts';

/** How each process reads its environment. */
export const READERS: Readonly<Record<string, (environment: Environment) => Record<string, unknown>>> = {
  gateway: readGatewayConfig,
  auth: readAuthConfig,
  lookup: readLookupConfig,
  bindings: readBindingsConfig,
  members: readMembersConfig,
  activity: readActivityConfig,
  moderation: readModerationConfig,
  events: readEventsConfig,
  console: readConsoleConfig,
};
