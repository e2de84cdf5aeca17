// Runs in a pod: calls the API at a constant rate from `POST /start {rate}` until `POST /stop`, which answers what came
// of it. BASE is the gateway; /keys/keys.json holds {guild, key} for each guild, so that no limit is met.
import { readFileSync } from 'node:fs';
import { Agent, createServer, request } from 'node:http';

const guilds = JSON.parse(readFileSync('/keys/keys.json', 'utf8'));
const base = new URL(process.env.BASE);
const agent = new Agent({ keepAlive: true, maxSockets: 100, timeout: 30_000 });
const TICK_MS = 10;
const CALL_MS = 15_000;

/** How often each is called, of 20, with the status that is right. */
const CALLS = [
  { times: 6, status: 200, call: () => ['GET', '/whoami'] },
  { times: 5, status: 200, call: (guild) => ['POST', `/moderation/${guild}/game/status`, { game_ids: [7001, 7004] }] },
  { times: 4, status: 200, call: (guild, n) => ['POST', '/game/servers/heartbeat', heartbeat(guild, n)] },
  { times: 2, status: 200, call: () => ['GET', '/bindings/list'] },
  { times: 2, status: 200, call: (guild) => ['GET', `/guilds/${guild}/verified`] },
  { times: 1, status: 200, call: (guild) => ['POST', '/lookup/status', { guild_id: guild, game_ids: [7001] }] },
];
const heartbeat = (guild, n) => ({
  guild_id: guild,
  server_id: `server-${n % 10}`,
  place_id: 1,
  player_count: 1,
  max_players: 30,
});
const turns = CALLS.flatMap((one) => Array.from({ length: one.times }, () => one));

let running;
let sent = 0;

function begin(rate) {
  const result = { sent: 0, ok: 0, failed: {}, examples: [], slowest: 0, times: [], began: Date.now(), open: 0 };
  let due = 0;
  const timer = setInterval(() => {
    due = ((Date.now() - result.began) / 1000) * rate;
    while (result.sent < due) call(result);
  }, TICK_MS);
  return { result, rate, timer };
}

function call(result) {
  const n = sent++;
  const { guild, key } = guilds[n % guilds.length];
  const kind = turns[Math.floor(n / guilds.length) % turns.length];
  const [method, path, body] = kind.call(guild, n);
  result.sent++;
  result.open++;
  const began = performance.now();
  const settle = (what) => {
    result.open--;
    const took = performance.now() - began;
    result.times.push(took);
    if (what === kind.status) result.ok++;
    else {
      result.failed[`${what}`] = (result.failed[`${what}`] ?? 0) + 1;
      if (result.examples.length < 20)
        result.examples.push(`${new Date().toISOString()} ${method} ${path}: ${what} after ${Math.round(took)} ms`);
    }
  };
  const text = body && JSON.stringify(body);
  const headers = {
    'x-api-key': key,
    ...(text && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
  };
  // Each fifth call comes by a connection of its own.
  const outgoing = request(new URL(`/api/v1${path}`, base), {
    method,
    headers,
    agent: n % 5 === 0 ? false : agent,
    timeout: CALL_MS,
  });
  let settled = false;
  const once = (what) => {
    if (settled) return;
    settled = true;
    settle(what);
  };
  outgoing.on('response', (response) => {
    const chunks = [];
    response.on('data', (chunk) => chunks.push(chunk));
    response.on('end', () =>
      once(
        response.statusCode === kind.status
          ? kind.status
          : `${response.statusCode} ${String(Buffer.concat(chunks)).slice(0, 120)}`,
      ),
    );
    response.on('error', (error) => once(error.code ?? error.message));
  });
  outgoing.on('timeout', () => outgoing.destroy(new Error('no answer')));
  outgoing.on('error', (error) => once(error.code ?? error.message));
  outgoing.end(text);
}

async function finish() {
  if (!running) return {};
  const { result, timer, rate } = running;
  running = undefined;
  clearInterval(timer);
  const seconds = (Date.now() - result.began) / 1000;
  for (let waited = 0; result.open > 0 && waited < CALL_MS; waited += 50)
    await new Promise((done) => setTimeout(done, 50));
  const times = result.times.sort((one, other) => one - other);
  const at = (part) => Math.round(times[Math.min(times.length - 1, Math.floor(times.length * part))] ?? 0);
  const { sent, ok, failed, examples } = result;
  return { rate, seconds: Math.round(seconds), sent, ok, failed, examples, p50: at(0.5), p99: at(0.99), max: at(1) };
}

createServer((incoming, response) => {
  const url = new URL(incoming.url, 'http://load');
  if (url.pathname === '/start') {
    running = begin(Number(url.searchParams.get('rate')));
    response.end('{}');
  } else if (url.pathname === '/stop') {
    finish().then((result) => response.end(JSON.stringify(result)));
  } else response.end('{}');
}).listen(7000);
process.once('SIGTERM', () => process.exit(0));
