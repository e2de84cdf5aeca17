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
 * operators run them elsewhere. Does nothing where the CPU has no cgroup v1 hierarchy.
 */
export function shareCpuAsNodesDo(state: string): void {
  const pods = join(CPU, process.env['LAB_NETNS'] ?? 'k8slab');
  if (!existsSync(join(pods, 'cpu.shares'))) return;
  const system = join(CPU, 'guild-data-system');
  mkdirSync(system, { recursive: true });
  writeFileSync(join(pods, 'cpu.shares'), String(SHARES * availableParallelism()));
  writeFileSync(join(system, 'cpu.shares'), String(SHARES));
  for (const id of [...programsOf(state), process.pid]) writeFileSync(join(system, 'cgroup.procs'), String(id));
}

/** The process IDs of the lab's programs: up.sh writes a line `name pid start` for each. */
function programsOf(state: string): number[] {
  const lines = readFileSync(join(state, 'pids'), 'utf8').trim().split('\n');
  return lines.map((line) => Number(line.split(' ')[1]));
}
