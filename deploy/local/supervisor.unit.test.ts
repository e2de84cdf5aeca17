import { once } from 'node:events';
import { beforeEach, expect, test } from 'vitest';
import type { Child, Exit } from './child.ts';
import { type Stage, Supervisor } from './supervisor.ts';

type Fake = { child: Child; end(exit: Exit): void };

let lines: string[];
let events: string[];
let pauses: number[];
let now: number;
let supervisor: Supervisor;

beforeEach(() => {
  lines = [];
  events = [];
  pauses = [];
  now = 0;
  supervisor = new Supervisor({
    report: (text) => lines.push(text),
    restarted: (name) => events.push(`${name} restarted`),
    clock: { now: () => now, pause },
  });
});

/** Returns immediately; the tenth pause lasts until it is aborted. */
async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  pauses.push(milliseconds);
  now += milliseconds;
  if (pauses.length === 10) await once(signal, 'abort');
  signal.throwIfAborted();
}

function fakeChild(name: string, pid: number): Fake {
  let exit: Exit | undefined;
  const { promise: exited, resolve } = Promise.withResolvers<Exit>();
  const end = (how: Exit): void => {
    exit ??= how;
    resolve(how);
  };
  const stop = (): Promise<Exit> => {
    events.push(`${name} stopped`);
    end({ code: 0, signal: null });
    return exited;
  };
  return { child: { pid, exited, exit: () => exit, stop }, end };
}

/** A program whose starts succeed if `works` returns true. */
function fakeProgram(name: string, stage: Stage, works: (start: number) => boolean = () => true) {
  const starts: Fake[] = [];
  const program = {
    name,
    stage,
    spawn: async () => {
      const fake = fakeChild(name, starts.length + 1);
      starts.push(fake);
      return fake.child;
    },
    ready: async () => {
      if (!works(starts.length)) throw new Error('not ready');
    },
  };
  const kill = (): void => starts.at(-1)?.end({ code: null, signal: 'SIGKILL' });
  return { program, starts, kill };
}

test('a process that ran for a while is restarted immediately, and the restart is reported', async () => {
  const { program, starts, kill } = fakeProgram('lookup', 'service');
  await supervisor.run(program);
  now += 60_000;
  kill();
  await expect.poll(() => events).toEqual(['lookup restarted']);
  expect(starts).toHaveLength(2);
  expect(pauses).toEqual([0]);
  expect(supervisor.pid('lookup')).toBe(2);
  expect(lines).toEqual(['lookup ended (signal SIGKILL), starting it again', 'lookup is ready again (process 2)']);
});

test('a process that ends soon, or does not become ready, is restarted after growing pauses', async () => {
  const { program, starts, kill } = fakeProgram('lookup', 'service', (start) => start === 1);
  await supervisor.run(program);
  kill();
  await expect.poll(() => pauses).toHaveLength(10);
  expect(pauses).toEqual([250, 500, 1000, 1500, 3000, 6000, 10_000, 10_000, 10_000, 10_000]);
  expect(starts).toHaveLength(10);
  await supervisor.stop();
});

test('a first start that fails three times is not tried again', async () => {
  const { program, starts } = fakeProgram('lookup', 'service', () => false);
  await expect(supervisor.run(program)).rejects.toThrow('not ready');
  expect(starts).toHaveLength(3);
});

test('stop ends the gateway first and the storage last, and nothing is started afterwards', async () => {
  const postgres = fakeProgram('PostgreSQL', 'storage');
  const gateway = fakeProgram('gateway', 'edge');
  const lookup = fakeProgram('lookup', 'service');
  for (const { program } of [postgres, gateway, lookup]) await supervisor.run(program);
  await supervisor.stop();
  expect(events).toEqual(['gateway stopped', 'lookup stopped', 'PostgreSQL stopped']);
  expect(lookup.starts).toHaveLength(1);
  expect(lines).toEqual([]);
  await expect(supervisor.run(lookup.program)).rejects.toThrow('stopping');
});

test('stop ends the pause before a restart', async () => {
  const { program, starts, kill } = fakeProgram('lookup', 'service', (start) => start === 1);
  await supervisor.run(program);
  kill();
  await expect.poll(() => pauses).toHaveLength(10);
  await supervisor.stop();
  expect(starts).toHaveLength(10);
});
