import { mkdtempSync, existsSync, rmSync, writeFileSync } from 'node:fs';
import { pin } from './cpu.ts';
import { LoadGenerator } from './load.ts';
import { RunningSystem } from './running.ts';
import { requestsOf, SCENARIOS } from './scenarios.ts';
import { addUsers, makeKeys, makeKey } from './world.ts';
import { startServer, startProxies, BARE } from './yardsticks.ts';
const folder = mkdtempSync('/tmp/guild-data-bench-');
const system = new RunningSystem(folder);
await system.start(new AbortController().signal);
await addUsers(system.databaseUrl, 0, 40000, console.log);
const { client, close } = system.admin();
const guilds = await makeKeys(client);
const first = guilds[0]!.id;
const world = {
  guilds,
  users: 40000,
  narrowKey: await makeKey(client, first, { scopes: ['lookup:read'], rateLimit: 100000 }),
  spentKey: await makeKey(client, first, { scopes: ['lookup:read'], rateLimit: 1 }),
};
close();
pin(process.pid, '1');
const generator = new LoadGenerator('1');
const server = await startServer();
pin(server.child.pid, '1');
const redis = new URL(system.up.redis!);
const proxies = await startProxies(folder, `127.0.0.1:${server.port}`, {
  keys: guilds.map((g) => g.key),
  redis: { host: redis.hostname, port: Number(redis.port) },
});
for (const p of proxies) pin(p.child.pid, '0');
const bare = proxies.find((p) => p.name === BARE)!;
const scenario = (n: string) => SCENARIOS.find((s) => s.name === n)!;
console.log('ready');
const wants: Record<string, [string, number]> = {
  lookup: ['lookup by game', 200],
  whoami: ['whoami', 200],
  r401: ['refused 401', 401],
  r429: ['refused 429', 429],
};
for (;;) {
  while (!existsSync('/tmp/quick.go')) await new Promise((r) => setTimeout(r, 300));
  const { readFileSync } = await import('node:fs');
  const cmd = readFileSync('/tmp/quick.go', 'utf8').trim().split(/\s+/);
  rmSync('/tmp/quick.go');
  if (cmd[0] === 'quit') break;
  let out = '';
  if (cmd[0] === 'prof') process.env['BENCH_PROFILE'] = '/tmp/prof';
  else delete process.env['BENCH_PROFILE'];
  try {
    const gw = await system.startGateway(`http://127.0.0.1:${server.port}`);
    pin(gw.child.pid, '0');
    const go = (port: number, pid: number, name: string, rate?: number, s = 3) =>
      generator.measure({
        host: '127.0.0.1',
        port,
        requests: requestsOf(scenario(wants[name]![0]), world),
        ...(rate ? { rate } : {}),
        connections: rate ? 256 : 32,
        warmUpSeconds: 1,
        seconds: s,
        processes: { x: pid },
      });
    await go(gw.port, gw.child.pid, 'lookup', 1000, 5);
    const rounds = Number(cmd[1] ?? 3);
    const which = cmd.slice(2).length ? cmd.slice(2) : ['lookup'];
    for (let r = 0; r < rounds; r++) {
      const b = await go(bare.port, bare.child.pid, 'lookup');
      const sv = which.some((w) => w.startsWith('r'))
        ? await (async () => {
            pin(server.child.pid, '0');
            const f = await go(server.port, server.child.pid, 'lookup');
            pin(server.child.pid, '1');
            return f;
          })()
        : undefined;
      out += `bare ${b.cpu.x!.toFixed(0)} `;
      if (sv) out += `server ${sv.cpu.x!.toFixed(1)} `;
      for (const w of which) {
        const g = await go(gw.port, gw.child.pid, w);
        const base = w.startsWith('r') ? sv!.cpu.x! : b.cpu.x!;
        out += `${w} ${g.cpu.x!.toFixed(0)} = ${(g.cpu.x! / base).toFixed(2)} ${Object.keys(g.statuses)}  `;
      }
      out += '\n';
    }
    await gw.child.stop(5000);
  } catch (e) {
    out += String(e);
  }
  writeFileSync('/tmp/quick.out', out);
}
generator.stop();
for (const p of [...proxies, server]) await p.child.stop(1000);
await system.stop();
rmSync(folder, { recursive: true, force: true });
process.exit();
