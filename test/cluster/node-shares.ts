import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';

const CPU = '/sys/fs/cgroup/cpu';
/** The weight of a control group to which nothing else was said, and of one CPU of a pod's requests. */
const SHARES = 1024;

/**
 * Divides a busy CPU as a node does on which systemd starts the programs: the kubelet, the container runtime and the control
 * plane share one group (`system.slice`), and all pods another one, with 1,024 for each CPU. The lab starts its programs in no
 * group, where each single process, such as a `runc`, would weigh as much as all pods together, and pods that serve would
 * stand still while others are created. This process and what it starts (Helm, kubectl) join the group of the programs, because
 * operators run them elsewhere. Does nothing where the CPU has no cgroup v1 hierarchy. Reports what was done, and returns a
 * function that undoes it, for a lab that keeps running.
 */
export function shareCpuAsNodesDo(state: string, report: (text: string) => void): () => void {
  const podShares = join(CPU, process.env['LAB_NETNS'] ?? 'k8slab', 'cpu.shares');
  if (!existsSync(podShares)) {
    report(
      'CPU shares not set, because the CPU has no cgroup v1 hierarchy: pods may stand still while others are created',
    );
    return () => undefined;
  }
  const before = readFileSync(podShares, 'utf8');
  const system = join(CPU, 'guild-data-system');
  const moved = [...programsOf(state), process.pid].map((id) => ({ id, group: groupOf(id) }));
  mkdirSync(system, { recursive: true });
  writeFileSync(podShares, String(SHARES * availableParallelism()));
  writeFileSync(join(system, 'cpu.shares'), String(SHARES));
  for (const { id } of moved) moveTo(system, id);
  report(`CPU shares set: ${SHARES} for the programs, ${SHARES * availableParallelism()} for all pods`);
  return () => {
    for (const { id, group } of moved) if (existsSync(`/proc/${id}`)) moveTo(join(CPU, group), id);
    writeFileSync(podShares, before);
  };
}

const moveTo = (group: string, id: number) => writeFileSync(join(group, 'cgroup.procs'), String(id));

/** The path of the control group of a process in the hierarchy of the CPU. */
function groupOf(id: number): string {
  const text = readFileSync(`/proc/${id}/cgroup`, 'utf8');
  return /^[0-9]+:(?:[^:]*,)?cpu(?:,[^:]*)?:(.*)$/m.exec(text)?.[1] ?? '/';
}

/** The process IDs of the lab's programs: up.sh writes a line `name pid start` for each. */
function programsOf(state: string): number[] {
  const lines = readFileSync(join(state, 'pids'), 'utf8').trim().split('\n');
  return lines.map((line) => Number(line.split(' ')[1]));
}
