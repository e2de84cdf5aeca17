import type { Route } from '#proto/rest/route.ts';

/** The modules of operations, by the first rule that a path fits. */
const GROUPS: readonly (readonly [RegExp, string])[] = [
  [/^\/verification\//, 'Verification'],
  [/^\/sync\//, 'Sync'],
  [/\/shield(?:\/|$)/, 'Shield'],
  [/\/game\/(?:un)?(?:ban|mute)/, 'Decisions'],
  [/^\/staff\/|\/staff\//, 'Staff'],
  [/^\/guilds\/:guildId\/commands/, 'Commands'],
  [/^\/game\/|\/servers|\/server$/, 'Servers'],
  [/^\/webhooks/, 'Webhooks'],
  [/^\/whoami$|\/usage$/, 'Keys'],
];

/** Returns the name of the module that a route belongs to: by its path, otherwise the service that serves it. */
export function groupOf({ path, service }: Route): string {
  const [, name] = GROUPS.find(([pattern]) => pattern.test(path)) ?? [];
  return `${name ?? service.charAt(0).toUpperCase() + service.slice(1)}Api`;
}
