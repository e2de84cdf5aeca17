import { setTimeout as sleep } from 'node:timers/promises';
import {
  type BanDifference,
  BanMirrorAdminServiceService,
  type UniverseComparison,
} from '#proto/gen/guild/moderation/v1/admin.ts';
import { ACTOR_OPTION, type Command } from '../command.ts';
import type { Connections } from '../connections.ts';
import { optionalTime, table, time } from '../text.ts';

const POLL_MS = 500;
/** The maximum number of differences that the command `bans drift` prints. */
const MAX_DIFFERENCES = 1_000;

const reconcile: Command = {
  name: 'bans reconcile',
  usage: '--guild ID [--wait] [--actor NOTE]',
  notes: ['--wait           wait until the comparison is complete, and show its result'],
  options: { guild: { type: 'string' }, wait: { type: 'boolean' }, ...ACTOR_OPTION },
  run: async (input, connections) => {
    const guildId = input.requiredText('guild');
    const waits = input.flag('wait');
    input.check();
    const { universeIds, requestedAtMs } = await admin(connections).reconcile({ guildId, actor: input.actor });
    if (!waits) {
      const text = `Requested for the universes ${universeIds.join(', ')}; bans drift shows the result.`;
      return { document: { universe_ids: universeIds }, text };
    }
    for (;;) {
      const { universes } = await admin(connections).listDrift({ guildId, limit: 1, afterGameId: 0 });
      const failed = universes.find(({ lastError }) => lastError !== undefined);
      if (failed) throw new Error(`universe ${failed.universeId} cannot be read: ${failed.lastError}`);
      if (universes.every(({ comparedAtMs = 0 }) => comparedAtMs >= requestedAtMs)) {
        return { document: { universes: universes.map(universeDocument) }, text: universeTable(universes) };
      }
      await sleep(POLL_MS);
    }
  },
};

const drift: Command = {
  name: 'bans drift',
  usage: '--guild ID',
  notes: [
    `At most ${MAX_DIFFERENCES} differences are shown. They are resolved automatically, unless their state is dead.`,
  ],
  options: { guild: { type: 'string' } },
  run: async (input, connections) => {
    const guildId = input.requiredText('guild');
    input.check();
    const request = { guildId, limit: MAX_DIFFERENCES, afterGameId: 0 };
    const { universes, differences } = await admin(connections).listDrift(request);
    const document = {
      universes: universes.map(universeDocument),
      differences: differences.map(differenceDocument),
    };
    if (universes.length === 0) return { document, text: 'The bans of this guild are not mirrored.' };
    const text = differences.length > 0 ? differenceTable(differences) : 'No ban differs from the game platform.';
    return { document, text: `${universeTable(universes)}\n\n${text}` };
  },
};

/** Commands of guildctl about the mirror of bans on the game platform. */
export const banMirrorCommands: readonly Command[] = [reconcile, drift];

const admin = (connections: Connections) => connections.admin(BanMirrorAdminServiceService, 'moderation');

const comparedAt = ({ comparedAtMs }: UniverseComparison) =>
  comparedAtMs === undefined ? undefined : Math.trunc(comparedAtMs / 1_000);

function universeTable(universes: readonly UniverseComparison[]): string {
  const rows = universes.map((universe) => [
    String(universe.universeId),
    optionalTime(comparedAt(universe), 'never'),
    String(universe.compared ?? '-'),
    String(universe.drifted ?? '-'),
    time(universe.nextAt),
    universe.lastError ?? '-',
  ]);
  return table(['UNIVERSE', 'COMPARED', 'RESTRICTIONS', 'UNEXPECTED', 'NEXT', 'ERROR'], rows);
}

function differenceTable(differences: readonly BanDifference[]): string {
  const rows = differences.map((difference) => [
    String(difference.gameId),
    String(difference.universeId ?? '-'),
    String(difference.placeId ?? 'all'),
    optionalTime(difference.driftedAt, '-'),
    difference.state ?? '-',
    String(difference.attempts),
    difference.lastError ?? '-',
  ]);
  return table(['GAME ID', 'UNIVERSE', 'PLACE', 'FOUND', 'STATE', 'ATTEMPTS', 'ERROR'], rows);
}

const universeDocument = (universe: UniverseComparison) => ({
  universe_id: universe.universeId,
  compared_at: comparedAt(universe) ?? null,
  compared: universe.compared ?? null,
  drifted: universe.drifted ?? null,
  next_at: universe.nextAt,
  last_error: universe.lastError ?? null,
});

const differenceDocument = (difference: BanDifference) => ({
  game_id: difference.gameId,
  universe_id: difference.universeId ?? null,
  place_id: difference.placeId ?? null,
  drifted_at: difference.driftedAt ?? null,
  state: difference.state ?? null,
  attempts: difference.attempts,
  last_error: difference.lastError ?? null,
});
