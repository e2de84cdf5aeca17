import { createServer, type Socket } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { createLog } from '../../telemetry/log.ts';
import { Metrics } from '../../telemetry/metrics.ts';
import { Listener } from './listener.ts';

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of cleanUps.splice(0).toReversed()) await step();
});

/** A server that accepts connections and never responds, like a database on an overloaded machine. */
async function silentDatabase(): Promise<string> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => void sockets.add(socket.on('error', () => undefined)));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  cleanUps.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  return `postgres://guild@127.0.0.1:${typeof address === 'object' ? address?.port : ''}/guild`;
}

test('while the database does not respond, one log line has the reason, without a stack trace', async () => {
  const lines: string[] = [];
  const log = await createLog({
    service: 'test',
    level: 'info',
    destination: { write: (line) => void lines.push(line) },
  });
  const listener = new Listener({
    url: await silentDatabase(),
    name: 'test',
    channel: 'changes',
    log,
    metrics: new Metrics(),
    onNotification: () => undefined,
    onListening: async () => undefined,
    onVerified: () => undefined,
  });
  await listener.start();
  cleanUps.push(() => listener.stop());
  await expect.poll(() => lines.length).toBeGreaterThan(0);
  const [line = '{}'] = lines;
  expect(JSON.parse(line)).toMatchObject({
    level: 'warn',
    msg: 'not receiving database notifications, connecting again',
    reason: 'no response within 2 s',
  });
  expect(line).not.toMatch(/stack|timeout expired|node_modules/);
});
