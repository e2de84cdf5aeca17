import { DEPLOYABLES } from '#local/processes.ts';
import { readText } from '../contract/sources.ts';

const PAGE = 'deploy/operations/sizing.md';
const MB = 1e6;
const MIB = 2 ** 20;

/**
 * The bytes of memory that each process uses, by the table of the page: at rest, or under load if that is more. Under load the sources
 * were measured, which need more than the bundles that the image runs.
 */
export function measuredMemory(): Map<string, number> {
  const page = readText(PAGE);
  const moreOfSources = Number(/need about ([0-9]+) MB more/.exec(page)?.[1]) * MB;
  const row = /^\| ([a-z]+) \| ([0-9]+) MB \| (?:([0-9]+) MiB|not measured)/gm;
  return new Map(
    [...page.matchAll(row)].map(([, name = '', atRest, underLoad]) => [
      name,
      Math.max(Number(atRest) * MB, Number(underLoad ?? 0) * MIB - moreOfSources),
    ]),
  );
}

/** The bytes of an amount of memory in the chart, such as 128Mi. */
export function bytesOf(amount: unknown): number {
  const mebibytes = /^([0-9]+)Mi$/.exec(String(amount))?.[1];
  if (mebibytes === undefined) throw new Error(`${String(amount)} is no number of Mi`);
  return Number(mebibytes) * MIB;
}

/** The processes whose request for memory does not cover what they use, or is not below their limit. */
export function wrongRequests(memoryOf: (name: string) => { request: unknown; limit: unknown }): string[] {
  const measured = measuredMemory();
  return DEPLOYABLES.flatMap(({ name }) => {
    const { request, limit } = memoryOf(name);
    const used = measured.get(name) ?? Number.POSITIVE_INFINITY;
    const isRight = bytesOf(request) >= used && bytesOf(limit) > bytesOf(request);
    return isRight
      ? []
      : [`${name} uses ${Math.ceil(used / MIB)} MiB, requests ${String(request)} of ${String(limit)}`];
  });
}
