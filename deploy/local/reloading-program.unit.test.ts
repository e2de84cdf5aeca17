import { beforeEach, expect, test } from 'vitest';
import type { Child, Exit } from './child.ts';
import { ReloadingProgram } from './reloading-program.ts';

/** Each process so far; a start waits for `ready` or `fail`. */
let processes: { child: Child; ready: () => void; fail: (reason: string) => void; end: () => void }[];
let lines: string[];
let program: ReloadingProgram;

beforeEach(() => {
  processes = [];
  lines = [];
  const ready = new Map<Child, Promise<void>>();
  const spawn = async () => {
    const exited = Promise.withResolvers<Exit>();
    const isReady = Promise.withResolvers<void>();
    let exit: Exit | undefined;
    const end = (how: Exit): Promise<Exit> => {
      exit ??= how;
      exited.resolve(how);
      isReady.reject(new Error('it ended'));
      return exited.promise;
    };
    const child: Child = {
      pid: processes.length + 1,
      exited: exited.promise,
      exit: () => exit,
      stop: () => end({ code: 0, signal: null }),
    };
    isReady.promise.catch(() => undefined);
    ready.set(child, isReady.promise);
    processes.push({
      child,
      ready: isReady.resolve,
      fail: (reason) => isReady.reject(new Error(reason)),
      end: () => void end({ code: 1, signal: null }),
    });
    return child;
  };
  program = new ReloadingProgram(
    { name: 'lookup', spawn, ready: async (child) => ready.get(child) },
    (line) => void lines.push(line),
  );
});

async function start(): Promise<void> {
  await program.spawn();
  processes[0]?.ready();
  await program.ready();
}

test('a reload stops the process, starts another one and waits until that is ready', async () => {
  await start();
  const reload = program.reload();
  await expect.poll(() => processes).toHaveLength(2);
  expect(processes[0]?.child.exit()).toEqual({ code: 0, signal: null });
  processes[1]?.ready();
  expect(await reload).toBe('ready');
  expect([program.pid, program.exit(), lines]).toEqual([2, undefined, []]);
});

test('a first start that fails is printed, and a reload makes the program ready', async () => {
  await program.spawn();
  const ready = program.ready();
  processes[0]?.fail('SyntaxError');
  await expect.poll(() => lines).toEqual(['SyntaxError\nWaiting for a change of lookup …']);
  const reload = program.reload();
  await expect.poll(() => processes).toHaveLength(2);
  processes[1]?.ready();
  expect(await reload).toBe('ready');
  await ready;
});

test('a reload during another one replaces its process, whose end is not printed', async () => {
  await start();
  const first = program.reload();
  await expect.poll(() => processes).toHaveLength(2);
  const second = program.reload();
  await expect.poll(() => processes).toHaveLength(3);
  processes[2]?.ready();
  expect([await first, await second]).toEqual(['replaced', 'ready']);
  expect(processes[1]?.child.exit()).toBeDefined();
  expect([program.pid, lines]).toEqual([3, []]);
});

test('a process that ends by itself is printed and not started again until a reload', async () => {
  await start();
  processes[0]?.end();
  await expect.poll(() => lines).toEqual(['lookup ended (exit status 1)\nWaiting for a change of lookup …']);
  expect([processes.length, program.exit()]).toEqual([1, undefined]);
});

test('after a stop nothing is started', async () => {
  await start();
  expect(await program.stop(0)).toEqual({ code: 0, signal: null });
  expect(await program.exited).toEqual({ code: 0, signal: null });
  expect(await program.reload()).toBe('replaced');
  expect(processes).toHaveLength(1);
});

test('a stop before the program is ready ends the wait for it', async () => {
  await program.spawn();
  const ready = program.ready();
  await program.stop(0);
  await expect(ready).rejects.toThrow('lookup was stopped');
});
