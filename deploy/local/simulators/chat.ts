import { createHash } from 'node:crypto';
import { AuditLog } from './chat/audit.ts';
import { guildControls } from './chat/controls.ts';
import { chatError, refuse } from './chat/errors.ts';
import { GuildEvents } from './chat/events.ts';
import { gatewayControls } from './chat/gateway/controls.ts';
import { Gateway } from './chat/gateway/gateway.ts';
import { guildRoutes, isOfPerson } from './chat/guilds.ts';
import { Commands } from './chat/interactions/commands.ts';
import { interactionControls } from './chat/interactions/controls.ts';
import { Interactions } from './chat/interactions/store.ts';
import { webhookRoutes } from './chat/interactions/webhooks.ts';
import { Invites } from './chat/invites.ts';
import { joinRoutes } from './chat/joins.ts';
import { type ChatLimit, type ChatRoute, chatLimits } from './chat/limits.ts';
import { memberRoutes } from './chat/members.ts';
import { ChatOAuth } from './chat/oauth.ts';
import type { Standing } from './limits.ts';
import { adjustLimits, Windows } from './limits.ts';
import type { Answer, Call, Control, Route } from './routes.ts';
import { done, ok, Rejection } from './routes.ts';
import type { Platform, PlatformOptions } from './server.ts';
import type { World } from './world.ts';

/** The chat platform: Discord's REST API, version 10, limited to guilds, roles, members and signing in. */
export function createChat(world: World, { clock, limits, limitScale }: PlatformOptions): Platform {
  const adjusted = adjustLimits(chatLimits, limits, limitScale);
  const windows = new Windows(clock);
  const audit = new AuditLog(clock);
  const oauth = new ChatOAuth(world, clock);
  const events = new GuildEvents();
  const invites = new Invites(world, events, clock);
  const gateway = new Gateway({ world, events, clock, windows, limits: adjusted });
  const commands = new Commands(world, clock);
  const interactions = new Interactions(clock);
  const writes = { world, audit, events, clock };
  const routes: ChatRoute[] = [
    ...guildRoutes(world, (call) => oauth.self(call)),
    ...memberRoutes(writes),
    ...joinRoutes(writes, oauth, invites),
    ...gateway.routes(),
    ...commands.routes(),
    ...webhookRoutes(world, interactions),
    ...oauth.routes(),
  ];
  const admitBucket = (name: ChatLimit, subject: string) => {
    const standing = windows.take(`${name} ${subject}`, adjusted[name]);
    const headers = bucketHeaders(name, standing, clock());
    if (!standing.allowed) throw new Rejection(tooMany(standing, headers, 'user'));
    return headers;
  };
  const admit = (call: Call, route: Route) => {
    // A browser comes without credentials; the application authenticates in its form.
    if (route.limit === 'oauth') return {};
    if (route.limit === 'webhook') return admitBucket('webhook', call.params['token'] ?? '');
    const caller = call.headers.authorization ?? '';
    const isKnown = isOfPerson(call) ? oauth.grantOf(call) !== undefined : /^Bot \S+$/.test(caller);
    // Bots and persons may read who they are; only persons may read their guilds, and only bots anything else.
    const isAllowed = route.pattern.endsWith('/users/@me') || isOfPerson(call) === (route.limit === 'own-guilds');
    if (!isKnown || !isAllowed) refuse(401, 0, '401: Unauthorized');
    const all = windows.take(caller, adjusted.global);
    if (!all.allowed) throw new Rejection(tooMany(all, { 'x-ratelimit-global': 'true' }, 'global'));
    const subject = call.params['guild'] ?? call.params['channel'] ?? '';
    return admitBucket((route.limit ?? 'guild-read') as ChatLimit, `${caller} ${subject}`);
  };
  const controls: Control[] = [
    { method: 'GET', pattern: '/__audit', handle: () => ok({ entries: audit.list() }) },
    { method: 'DELETE', pattern: '/__audit', handle: done(() => audit.clear()) },
    ...oauth.controls(),
    ...guildControls({ world, events, clock, invites }),
    ...gatewayControls(gateway),
    ...interactionControls({ world, commands, interactions, clock }),
  ];
  const websocket = {
    path: '/gateway',
    upgrade: gateway.upgrade.bind(gateway),
    stop: () => gateway.stop(),
  };
  return { routes, controls, admit, error: (status, _path, retryAfter) => chatError(status, retryAfter), websocket };
}

function bucketHeaders(name: ChatLimit, standing: Standing, now: number): Record<string, string> {
  return {
    'x-ratelimit-limit': String(standing.limit.count),
    'x-ratelimit-remaining': String(standing.remaining),
    'x-ratelimit-reset': ((now + standing.resetMs) / 1000).toFixed(3),
    'x-ratelimit-reset-after': (standing.resetMs / 1000).toFixed(3),
    // Opaque like the platform's bucket IDs: requests with the same ID share a limit.
    'x-ratelimit-bucket': createHash('sha256').update(name).digest('hex').slice(0, 32),
  };
}

function tooMany(standing: Standing, headers: Record<string, string>, scope: 'user' | 'global'): Answer {
  const answer = chatError(429, standing.resetMs / 1000, scope === 'global');
  return { ...answer, headers: { ...headers, ...answer.headers, 'x-ratelimit-scope': scope } };
}
