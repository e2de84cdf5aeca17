import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { amount } from '../measure/bounds.ts';
import { printFigure } from '../measure/figures.ts';
import { databaseRows } from '../postgres/database.ts';
import { DurableDeployment, KILLABLE } from './durable-deployment.ts';
import { Writer } from './writer.ts';

const GUILDS = Array.from({ length: 16 }, (_, index) => `90000000000000${index + 1000}`);
const ROUNDS = amount(1, 5);
/** Time between kills. */
const PAUSE_MS = 1_000;
/** Number of each kind. */
const WRITERS = 3;
const WRITE_EVERY_MS = amount(200, 400);
const BEAT_EVERY_MS = 5_000;
const SERVER = 'server-1';

const system = new DurableDeployment();

beforeAll(() => system.start(GUILDS), 300_000);
afterAll(() => system.stop(), 60_000);

interface Write {
  guild: string;
  gameId: number;
}

/** Acknowledged writes. */
const links: Write[] = [];
const bans: Write[] = [];
const acks: { guild: string; commandId: string; gameId: number }[] = [];
const stop = new AbortController();

let players = 1_000_000;
const nextWrite = (): Write => ({ gameId: ++players, guild: GUILDS[players % GUILDS.length] as string });

async function link(writer: Writer, write: Write): Promise<void> {
  const account = { chat_id: chatIdOf(write), game_id: write.gameId, game_username: 'Player' };
  await writer.post(write.guild, '/verification/link', account);
  links.push(write);
}

async function ban(writer: Writer, write: Write): Promise<void> {
  await writer.post(write.guild, `/moderation/${write.guild}/game/ban`, { game_id: write.gameId, reason: 'Cheats' });
  bans.push(write);
}

const chatIdOf = ({ gameId }: Write) => `93000000000${gameId}`;

/** Sends writes sequentially until it is stopped; completes the last one. */
async function write(writer: Writer, one: (writer: Writer, write: Write) => Promise<void>): Promise<void> {
  while (!stop.signal.aborted) {
    await one(writer, nextWrite());
    await wait(WRITE_EVERY_MS);
  }
}

const beat = (writer: Writer, guild: string) =>
  writer.post(guild, '/game/servers/heartbeat', {
    server_id: SERVER,
    place_id: 40001,
    player_count: 1,
    max_players: 9,
  });

/** Acts as a game server: sends heartbeats and acknowledges the received commands, until all bans have arrived. */
async function serve(writer: Writer, guild: string): Promise<void> {
  let beatAt = performance.now();
  while (!stop.signal.aborted || !hasAllBans(guild)) {
    if (performance.now() - beatAt > BEAT_EVERY_MS) {
      await beat(writer, guild);
      beatAt = performance.now();
    }
    const { commands } = await writer.get(guild, `/game/servers/${SERVER}/commands`);
    for (const { command_id: commandId, target } of commands) {
      await writer.post(guild, `/game/servers/${SERVER}/commands/${commandId}/ack`, { status: 'success' });
      acks.push({ guild, commandId, gameId: target.game_id });
    }
    await wait(2 * WRITE_EVERY_MS);
  }
}

function hasAllBans(guild: string): boolean {
  const acknowledged = new Set(acks.filter((ack) => ack.guild === guild).map(({ gameId }) => gameId));
  return bans.every((one) => one.guild !== guild || acknowledged.has(one.gameId));
}

/** The rows of a query, as `guild/something`, in order. */
async function rowsOf(text: string): Promise<string[]> {
  const rows = await databaseRows<{ row: string }>(system.databaseUrl, `SELECT guild_id || '/' || ${text}`);
  return rows.map(({ row }) => row).toSorted();
}

test('kill -9 of each process in turn: every acknowledged write is stored exactly once', {
  timeout: 600_000,
}, async () => {
  const writer = new Writer(system.deployment.api, system.deployment.keys);
  // From now on a live server of each guild receives every ban.
  await Promise.all(GUILDS.map((guild) => beat(writer, guild)));
  const writing = [
    ...Array.from({ length: WRITERS }, () => write(writer, link)),
    ...Array.from({ length: WRITERS }, () => write(writer, ban)),
    ...GUILDS.map((guild) => serve(writer, guild)),
  ];
  const all = Promise.all(writing);
  const killing = async () => {
    for (let round = 0; round < ROUNDS; round++) {
      for (const name of KILLABLE) {
        await system.killAndRestart(name);
        await wait(PAUSE_MS);
      }
    }
    return ROUNDS * KILLABLE.length;
  };
  // A rejected write ends the test immediately.
  const kills = await Promise.race([killing(), all.then(() => 0)]);
  stop.abort();
  await all;

  const rowsFor = (writes: readonly Write[], what: (write: Write) => string) =>
    writes.map((one) => `${one.guild}/${what(one)}`).toSorted();
  const pairs = rowsFor(links, (one) => `${chatIdOf(one)}/${one.gameId}`);
  expect(await rowsOf(`chat_id || '/' || game_id AS row FROM lookup.links`)).toEqual(pairs);
  expect(await rowsOf(`chat_id || '/' || game_id AS row FROM lookup.link_history`)).toEqual(pairs);
  const banned = rowsFor(bans, ({ gameId }) => String(gameId));
  expect(await rowsOf('game_id AS row FROM moderation.punishments WHERE ended_at IS NULL')).toEqual(banned);
  expect(await rowsOf('game_id AS row FROM moderation.log')).toEqual(banned);
  // Each decision became one command, and each command was acknowledged.
  expect(await rowsOf('target_game_id AS row FROM activity.commands')).toEqual(banned);
  const acked = [...new Set(acks.map(({ guild, commandId }) => `${guild}/${commandId}`))].toSorted();
  expect(await rowsOf(`command_id AS row FROM activity.deliveries WHERE status = 'success'`)).toEqual(acked);
  expect(kills).toBeGreaterThan(0);
  printFigure(
    `writes lost or doubled by ${kills} kills`,
    `0 of ${links.length} links, ${bans.length} bans, ${acked.length} acknowledgements; ${writer.repeats} repeats`,
  );
});
