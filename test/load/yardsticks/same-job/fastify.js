// A plain Fastify server that does the same job as three routes of the system: it authenticates the API key, checks its
// scope, counts two rate limits in Redis, validates the input, runs one statement and writes the same envelope.
// `node test/load/bench.ts --only whole` starts it with the path of a JSON file.
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import Fastify from 'fastify';
import { Redis } from 'ioredis';
import pg from 'pg';

const { port, databaseUrl, redis, script, statements, keys } = JSON.parse(readFileSync(process.argv[2], 'utf8'));
const CAP = 1_000_000;
// A 64-bit number is a number in JSON.
pg.types.setTypeParser(20, Number);
const pool = new pg.Pool({ connectionString: databaseUrl, max: 5 });
const client = new Redis(redis);
client.defineCommand('countLimits', { lua: script, numberOfKeys: 2 });
const app = Fastify({ bodyLimit: 64 * 1024, keepAliveTimeout: 75_000 });

const text = { type: 'string' };
const integer = { type: 'integer' };
const positive = { type: 'integer', minimum: 1 };
const envelope = (data) => ({
  response: {
    200: { type: 'object', properties: { status: text, code: integer, message: text, data } },
  },
});
const objectOf = (properties) => ({ type: 'object', properties });
const success = (message, data) => ({ status: 'success', code: 200, message, data });

class Refusal extends Error {
  constructor(statusCode, code) {
    super(code);
    this.statusCode = statusCode;
    this.details = { code };
  }
}

app.setErrorHandler((error, _request, reply) => {
  const { statusCode = 503, message, details } = error;
  void reply.code(statusCode).send({ status: 'error', code: statusCode, message, details });
});

/** Authenticates the key, checks the scope and the guild, and counts the limits of the guild and the key. */
const guarded = (category, scope) => async (request, reply) => {
  const hash = createHash('sha256').update(String(request.headers['x-api-key'])).digest('hex');
  const grant = keys[hash];
  if (!grant) throw new Refusal(401, 'INVALID_API_KEY');
  if (!grant.scopes.includes(scope)) throw new Refusal(403, 'MISSING_SCOPE');
  const named = request.headers['x-guild-id'] ?? request.params.guildId ?? request.body?.guild_id;
  if (named !== undefined && named !== grant.guildId) throw new Refusal(403, 'GUILD_MISMATCH');
  const tag = `yardstick:{${grant.guildId}}:`;
  const counted = await client.countLimits(tag + category, tag + hash, 60_000, 2, -1, 0, CAP, 0, CAP, 0);
  if (counted[2] === 0) throw new Refusal(429, 'RATE_LIMITED');
  reply.header('x-ratelimit-remaining', CAP - counted[3]);
  reply.header('cache-control', 'no-store');
  request.guildId = grant.guildId;
};

const query = (name, values) => pool.query({ name, text: statements[name], values });

app.get(
  '/api/v1/lookup/game/:gameId',
  {
    schema: {
      params: objectOf({ gameId: positive }),
      ...envelope(objectOf({ chat_id: text, game_id: integer, game_username: text, verified: { type: 'boolean' } })),
    },
    preHandler: guarded('lookup', 'lookup:read'),
  },
  async (request) => {
    const { rows } = await query('lookup', [request.guildId, request.params.gameId]);
    if (!rows[0]) throw new Refusal(404, 'NOT_FOUND');
    return success('User found', { ...rows[0], verified: true });
  },
);

app.post(
  '/api/v1/game/servers/heartbeat',
  {
    schema: {
      body: {
        ...objectOf({
          guild_id: text,
          server_id: { type: 'string', pattern: '^[A-Za-z0-9_-]{1,64}$' },
          place_id: positive,
          player_count: { type: 'integer', minimum: 0 },
          max_players: positive,
        }),
        required: ['guild_id', 'server_id', 'place_id', 'player_count', 'max_players'],
      },
      ...envelope(
        objectOf({
          server_time: integer,
          next_heartbeat_seconds: integer,
          commands: { type: 'array', items: objectOf({ command_id: text, type: text }) },
        }),
      ),
    },
    preHandler: guarded('server_heartbeat', 'server:write'),
  },
  async ({ guildId, body }) => {
    const values = [guildId, body.server_id, body.place_id, body.player_count, body.max_players];
    const { rows: commands } = await query('heartbeat', values);
    const time = Math.floor(Date.now() / 1000);
    return success('Heartbeat received', { server_time: time, next_heartbeat_seconds: 15, commands });
  },
);

const nullableNumber = { type: ['integer', 'null'] };
const banInfo = objectOf({
  reason: text,
  created_at: integer,
  expires_at: nullableNumber,
  is_permanent: { type: 'boolean' },
  banned_by: { type: ['string', 'null'] },
});
const standing = objectOf({
  banned: { type: 'boolean' },
  ban_info: { ...banInfo, nullable: true },
  muted: { type: 'boolean' },
  flagged: { type: 'boolean' },
});

app.post(
  '/api/v1/moderation/:guildId/game/status',
  {
    schema: {
      body: {
        ...objectOf({ game_ids: { type: 'array', maxItems: 25, items: positive } }),
        required: ['game_ids'],
      },
      ...envelope(objectOf({ results: { type: 'object', additionalProperties: standing } })),
    },
    preHandler: guarded('moderation_check', 'moderation:read'),
  },
  async ({ guildId, body }) => {
    const { rows } = await query('statuses', [guildId, body.game_ids]);
    const results = Object.fromEntries(
      body.game_ids.map((id) => [id, { banned: false, ban_info: null, muted: false, flagged: false }]),
    );
    for (const { game_id: id, kind, reason, created_at, expires_at, banned_by } of rows) {
      const one = results[id];
      if (kind === 'mute') one.muted = true;
      else if (kind === 'flag') one.flagged = true;
      else {
        one.banned = true;
        one.ban_info = { reason, created_at, expires_at, is_permanent: expires_at === null, banned_by };
      }
    }
    return success('Players checked', { results });
  },
);

await app.listen({ port, host: '127.0.0.1' });
