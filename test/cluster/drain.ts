import { DEPLOYABLES } from '#local/processes.ts';
import type { Namespace } from './kubectl.ts';

const SERVICES = DEPLOYABLES.map(({ name }) => name);
const SELECTOR = `app.kubernetes.io/component in (${SERVICES.join(',')})`;
/** The end of a drain that waited for pods which a disruption budget protects: on a single node no replacement can start. */
const TIMED_OUT = /global timeout reached/;

/**
 * Drains the node on which the load runs, and gives it back. On a single node the disruption budgets keep the last pods. Returns what
 * went wrong: a service without a pod, a service of which no pod was evicted, or another error of the drain than its timeout.
 */
export async function drainNode(namespace: Namespace, release: string): Promise<string[]> {
  const node = (await namespace.kubectl('get', 'pods', 'load', '-o', 'jsonpath={.spec.nodeName}')).trim();
  const onNode = await podsOn(namespace, node);
  const faults = onNode.length === 0 ? ['the node had no pod of a service'] : [];
  const words = ['drain', node, '--ignore-daemonsets', '--delete-emptydir-data', '--pod-selector', SELECTOR];
  await namespace.kubectl(...words, '--timeout=45s').catch((error: Error) => {
    if (!TIMED_OUT.test(error.message)) faults.push(error.message);
  });
  for (const name of SERVICES) {
    const left = await namespace.pods(name);
    if (left.length === 0) faults.push(`${name} had no pod left`);
    const own = onNode.filter(({ component }) => component === name);
    if (own.length > 0 && own.every(({ pod }) => left.includes(pod))) faults.push(`no pod of ${name} was evicted`);
  }
  await namespace.kubectl('uncordon', node);
  for (const name of SERVICES) await namespace.rollout(`${release}-${name}`);
  return faults;
}

/** The pods of the services on a node. */
async function podsOn(namespace: Namespace, node: string): Promise<{ component: string; pod: string }[]> {
  const words = ['-l', SELECTOR, '--field-selector', `spec.nodeName=${node}`, '-o', 'json'];
  const { items } = JSON.parse(await namespace.kubectl('get', 'pods', ...words)) as {
    items: { metadata: { name: string; labels: Record<string, string> } }[];
  };
  return items.map(({ metadata: { name: pod, labels } }) => ({
    component: labels['app.kubernetes.io/component'] ?? '',
    pod,
  }));
}
