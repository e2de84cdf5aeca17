import { relative } from 'node:path';
import { DEMO_LINKS } from './demo/demo.ts';
import type { Up } from './system.ts';

/** The text that is printed when everything is ready: the addresses, and commands to try. */
export function greeting(up: Up, folder: string, seconds: number): string {
  const { gateway, demo } = up;
  const shown = relative(process.cwd(), folder);
  const data = shown.startsWith('..') || shown === '' ? folder : shown;
  const [first] = DEMO_LINKS;
  const key = `-H 'X-API-Key: ${demo.key}'`;
  const guild = `-H 'X-Guild-ID: ${demo.guild_id}'`;
  const json = "-H 'Content-Type: application/json'";
  const status = JSON.stringify({ guild_id: demo.guild_id, game_ids: DEMO_LINKS.map((link) => link.game_id) });
  const ban = JSON.stringify({ game_id: 7004, reason: 'Spam', duration: '1h' });
  const commands = `${up.simulators.chat}/__interactions`;
  const command = JSON.stringify({
    url: `${gateway}/interactions`,
    guild: demo.guild_id,
    user: first.chat_id,
    command: 'verify',
  });
  const admin = Object.entries(up.services).map(([name, service]) => `${name} ${service.admin}`);
  return `
Guild Data is ready after ${seconds.toFixed(1)} s (process ${up.pid}; Ctrl-C stops it)

  API           ${gateway}/api/v1
  Docs          ${gateway}/docs
  OpenAPI       ${gateway}/openapi.json
  Console       ${consoleLines(up)}
  Demo guild    ${demo.guild_id}
  Demo key      ${demo.key}
  Logs          ${data}/logs
  Database      ${withoutPassword(up.database)}
  Redis         ${up.redis === null ? 'none: limits and caches are in memory' : withoutPassword(up.redis)}
  Simulators    chat ${up.simulators.chat}, game ${up.simulators.game}, OpenID ${up.simulators.oidc}
  Webhooks      ${up.simulators.receiver} receives the demo guild's events and prints them here
  Health and metrics (/livez, /readyz, /metrics)
                ${admin.join('\n                ')}
  All of this for programs: ${data}/up.json

Try it:

  curl -s ${key} ${gateway}/api/v1/whoami

  curl -s ${key} ${guild} ${gateway}/api/v1/lookup/game/${first.game_id}

  curl -s ${key} ${json} -d '${status}' ${gateway}/api/v1/lookup/status

  curl -s ${key} ${json} -d '${ban}' ${gateway}/api/v1/moderation/${demo.guild_id}/game/ban

  curl -N ${key} ${guild} ${gateway}/api/v1/events/stream

A slash command of a member, as the simulated chat platform sends it, and then the response that the member sees:

  curl -s ${json} -d '${command}' ${commands}; sleep 1; curl -s ${commands}
`;
}

/** The console's address, a link that signs in without an account, and who can sign in with the simulated providers. */
function consoleLines({ console }: Up): string {
  if (!console) return 'none';
  return [
    console.url,
    'Sign in as a simulated person, such as lena (owner of the demo guild), or olga (operator of all guilds,',
    'with the OpenID provider). This link signs in the first who opens it as owner, within 10 minutes:',
    console.link,
  ].join('\n                ');
}

/** Hides the password from terminals and logs. up.json, which only its owner can read, has the whole URL. */
function withoutPassword(text: string): string {
  const url = URL.parse(text);
  if (url === null) return '(unreadable URL)';
  if (url.password !== '') url.password = '***';
  // The query may have a password too.
  url.search = '';
  return url.href;
}
