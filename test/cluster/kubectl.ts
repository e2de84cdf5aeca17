import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import { labProgram } from '#test/chart/helm.ts';

/** Runs a program and returns its output; throws its error output if it fails. `input` is its standard input. */
export async function run(program: string, words: readonly string[], input?: string): Promise<string> {
  const running = promisify(execFile)(program, words, { maxBuffer: 1 << 28, env: process.env });
  running.child.stdin?.on('error', () => undefined).end(input);
  try {
    return (await running).stdout;
  } catch (error) {
    const { stderr, stdout } = error as { stderr?: string; stdout?: string };
    const said = stderr || stdout || String(error);
    throw new Error(`${program.split('/').at(-1)} ${words.slice(0, 4).join(' ')} …: ${said}`, { cause: error });
  }
}

export function program(name: string): string {
  const path = labProgram(name);
  if (path === undefined) throw new Error(`${name} is neither in LAB_BIN nor on PATH`);
  return path;
}

/** One namespace of a cluster, with the chart's objects in it. */
export class Namespace {
  readonly name: string;
  readonly kubectlPath = program('kubectl');

  constructor(name: string) {
    this.name = name;
  }

  kubectl(...words: string[]): Promise<string> {
    return run(this.kubectlPath, ['--namespace', this.name, ...words]);
  }

  apply(manifest: unknown): Promise<string> {
    return run(this.kubectlPath, ['--namespace', this.name, 'apply', '--filename', '-'], JSON.stringify(manifest));
  }

  /** Names of the running pods of a component that are not being deleted. */
  async pods(component: string): Promise<string[]> {
    const selector = `app.kubernetes.io/component=${component}`;
    const list = JSON.parse(await this.kubectl('get', 'pods', '-l', selector, '-o', 'json')) as { items: Pod[] };
    const running = list.items.filter((pod) => pod.status.phase === 'Running' && !pod.metadata.deletionTimestamp);
    return running.map((pod) => pod.metadata.name);
  }

  /** Waits until a component has no more pods than these, also none that is being deleted. */
  async untilAtMost(component: string, most: number, timeoutMs: number): Promise<void> {
    const selector = `app.kubernetes.io/component=${component}`;
    const late = Date.now() + timeoutMs;
    for (let count = Number.POSITIVE_INFINITY; count > most; await pause(500)) {
      const names = await this.kubectl('get', 'pods', '-l', selector, '-o', 'name');
      count = names.split('\n').filter((name) => name !== '').length;
      if (Date.now() > late) throw new Error(`${component} still has ${count} pods`);
    }
  }

  /** Runs a Node program in a pod's container and returns its output. */
  node(pod: string, code: string, ...words: string[]): Promise<string> {
    return this.kubectl('exec', pod, '--', 'node', '--input-type=module', '-e', code, ...words);
  }

  /** Forwards a local port to a pod or Service until `close`. */
  async forward(target: string, port: number): Promise<{ url: string; close: () => void }> {
    const words = ['--namespace', this.name, 'port-forward', target, `:${port}`];
    const child: ChildProcess = spawn(this.kubectlPath, words, { stdio: ['ignore', 'pipe', 'inherit'] });
    const [line] = (await once(child.stdout as NodeJS.ReadableStream, 'data')) as [Buffer];
    const local = /127\.0\.0\.1:([0-9]+)/.exec(line.toString())?.[1];
    if (local === undefined) throw new Error(`kubectl port-forward: ${line.toString()}`);
    return { url: `http://127.0.0.1:${local}`, close: () => void child.kill() };
  }

  rollout(deployment: string): Promise<string> {
    return this.kubectl('rollout', 'status', `deployment/${deployment}`, '--timeout=300s');
  }
}

interface Pod {
  metadata: { name: string; deletionTimestamp?: string };
  status: { phase: string };
}
