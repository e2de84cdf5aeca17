import { setTimeout as wait } from 'node:timers/promises';
import { expect } from 'vitest';
import { LONG, withinBound } from '../measure/bounds.ts';
import { scrapePage } from '../measure/exposition.ts';
import { printFigure } from '../measure/figures.ts';
import type { CallResult } from '../system/system.ts';
import { type Fault, FaultyNetwork, type Part, worldOf } from './faulty-network.ts';
import { Cell, PROBE_NAMES, PROBES, type ProbeName } from './probes.ts';

const FAULTS = ['down', 'slow', 'reset'] as const satisfies Fault[];

/** The responses when a component is needed, by fault. */
const ERROR_STATUSES = {
  /** One of our components: it is down, or too slow. */
  unavailable: { down: [503], slow: [503, 504], reset: [503] },
  /** A platform; 503 comes from its circuit breaker. */
  platform: { down: [502, 503], slow: [503, 504], reset: [502, 503] },
} as const;

const UNAVAILABLE = 'unavailable';
const PLATFORM = 'platform';

/** The probes that a failed component affects, with their responses; all others must be unaffected. */
export const TABLE: Record<Exclude<Part, 'listen'>, Partial<Record<ProbeName, keyof typeof ERROR_STATUSES>>> = {
  redis: {},
  postgres: {
    'an unknown key': UNAVAILABLE,
    'a link, read': UNAVAILABLE,
    'a link, made': UNAVAILABLE,
    'bindings, listed': UNAVAILABLE,
    'a ban, read': UNAVAILABLE,
    'a ban, made': UNAVAILABLE,
    'a member': UNAVAILABLE,
    'roles, weighed': UNAVAILABLE,
    'a heartbeat': UNAVAILABLE,
    'commands, polled': UNAVAILABLE,
    permissions: UNAVAILABLE,
    usage: UNAVAILABLE,
    'the set-up, checked': UNAVAILABLE,
    'a person': UNAVAILABLE,
    'people, found': UNAVAILABLE,
    'roles, explained': UNAVAILABLE,
    'a binding, previewed': UNAVAILABLE,
  },
  // Auth serves the usage, for which it needs every service, and the checks and counts, which name those that are lost.
  auth: {
    'an unknown key': UNAVAILABLE,
    usage: UNAVAILABLE,
    'the set-up, checked': UNAVAILABLE,
    'the guild, counted': UNAVAILABLE,
  },
  lookup: {
    usage: UNAVAILABLE,
    'people, found': UNAVAILABLE,
    'roles, explained': UNAVAILABLE,
    'a binding, previewed': UNAVAILABLE,
    'a person': UNAVAILABLE,
    'a link, read': UNAVAILABLE,
    'a link, made': UNAVAILABLE,
    'a member': UNAVAILABLE,
    'roles, weighed': UNAVAILABLE,
    permissions: UNAVAILABLE,
  },
  bindings: {
    usage: UNAVAILABLE,
    'bindings, listed': UNAVAILABLE,
    'a group, checked': UNAVAILABLE,
    'roles, weighed': UNAVAILABLE,
    'roles, explained': UNAVAILABLE,
    'a binding, previewed': UNAVAILABLE,
  },
  moderation: {
    usage: UNAVAILABLE,
    'a person': UNAVAILABLE,
    'a ban, read': UNAVAILABLE,
    'a ban, made': UNAVAILABLE,
  },
  members: {
    usage: UNAVAILABLE,
    'a link, made': UNAVAILABLE,
    'a member': UNAVAILABLE,
    'roles, weighed': UNAVAILABLE,
    'people, found': UNAVAILABLE,
    'names, resolved': UNAVAILABLE,
    'roles, explained': UNAVAILABLE,
    'a binding, previewed': UNAVAILABLE,
    permissions: UNAVAILABLE,
  },
  // Decisions wait in the outbox.
  activity: {
    usage: UNAVAILABLE,
    'a person': UNAVAILABLE,
    'a heartbeat': UNAVAILABLE,
    'commands, polled': UNAVAILABLE,
    permissions: UNAVAILABLE,
  },
  // People are still found, and names resolved, on the other platform and in the links.
  chat: {
    'a member': PLATFORM,
    'roles, weighed': PLATFORM,
    'roles, explained': PLATFORM,
    permissions: PLATFORM,
  },
  // An unknown verdict neither assigns nor removes a role.
  game: { 'a group, checked': PLATFORM },
};

const CODES: Record<number, string> = { 502: 'PLATFORM_ERROR', 503: 'UNAVAILABLE', 504: 'TIMEOUT' };

const RECOVERY_MS = 10_000;
const LOOK_EVERY_MS = 100;
/** More failures than open a breaker. */
const REPEATS = 12;
/** There are few unknown keys, and few previews are allowed in a minute. */
const SELDOM: ProbeName[] = ['an unknown key', 'a binding, previewed'];

/** Checks one component's rows of the table against the whole system; returns the faults after which it was used again. */
export async function checkPart(part: Exclude<Part, 'listen'>): Promise<Fault[]> {
  const guilds = FAULTS.map((_, index) => `90000000000000${index + 1}001`);
  const system = new FaultyNetwork();
  try {
    const cells = await oneByOne(async () => {
      // A cached link would be found while PostgreSQL is lost.
      await system.start({ simulators: worldOf(guilds), environment: { LINK_CACHE_SECONDS: '0' } });
      const made: Cell[] = [];
      for (const guild of guilds) made.push(await new Cell(system.network, guild).prepare());
      return made;
    });
    const overcome: Fault[] = [];
    const bad = await whileWatchingLiveness(system, async () => {
      for (const [index, fault] of FAULTS.entries()) {
        await checkFault(system, cells[index] as Cell, part, fault);
        overcome.push(fault);
      }
    });
    expect(bad, 'answers of /livez that were not 200').toEqual([]);
    await checkRetries(system);
    return overcome;
  } finally {
    await system.stop();
  }
}

let lastStart: Promise<unknown> = Promise.resolve();

/** Systems start one after the other, because concurrently they would be too slow on a small machine. */
function oneByOne<Result>(start: () => Promise<Result>): Promise<Result> {
  const started = lastStart.catch(() => undefined).then(start);
  lastStart = started;
  return started;
}

/** Injects the fault, compares the responses, removes it, and waits until everything works. */
async function checkFault(
  system: FaultyNetwork,
  cell: Cell,
  part: Exclude<Part, 'listen'>,
  fault: (typeof FAULTS)[number],
): Promise<void> {
  const expected = (name: ProbeName) => {
    const kind = TABLE[part][name];
    return kind ? ERROR_STATUSES[kind][fault] : [PROBES[name].well];
  };
  await untilWell(cell);
  await system.inflict(part, fault);
  const row = await Promise.all(
    PROBE_NAMES.map(async (name) => {
      const answer = await askFor(cell, name, expected(name));
      expect(expected(name), `${part} ${fault}: ${name}: ${JSON.stringify(answer.json)}`).toContain(answer.status);
      return TABLE[part][name] ? [`${name} ${answer.status}`] : [];
    }),
  );
  const others = `${row.filter((affected) => affected.length === 0).length} others unaffected`;
  printFigure(`while ${part} is ${fault}`, [...row.flat(), others].join('; '));
  await openBreakers(cell, part, fault);
  await system.restore(part, fault);
  withinBound(`${part} is used again after it was ${fault}`, await untilWell(cell), RECOVERY_MS);
}

/** An error with its code and, if present, Retry-After. */
function checkAnswer({ status, json, headers }: CallResult): void {
  if (status < 500) return;
  expect(json).toMatchObject({ status: 'error', code: status, details: { code: CODES[status] } });
  if (status === 503) expect(Number(headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
}

/** Enough calls to open the circuit breaker, whose probe must then notice the recovery. */
async function openBreakers(cell: Cell, part: Exclude<Part, 'listen'>, fault: (typeof FAULTS)[number]): Promise<void> {
  if (fault !== 'down') return;
  const names = (Object.keys(TABLE[part]) as ProbeName[]).filter((name) => !SELDOM.includes(name));
  const answers = await Promise.all(
    names.flatMap((name) => Array.from({ length: REPEATS }, () => PROBES[name].call(cell))),
  );
  for (const answer of answers) {
    expect([502, 503, 504]).toContain(answer.status);
    checkAnswer(answer);
  }
}

/** The response to a probe. Because a busy machine may be late, an unexpected response is retried twice. */
async function askFor(cell: Cell, name: ProbeName, expected: readonly number[]): Promise<CallResult> {
  for (let asked = 1; ; asked++) {
    const answer = await PROBES[name].call(cell);
    checkAnswer(answer);
    if (asked === 3 || expected.includes(answer.status)) return answer;
  }
}

/** Milliseconds until each probe got its normal response again. */
async function untilWell(cell: Cell): Promise<number> {
  const started = performance.now();
  const patience = LONG ? RECOVERY_MS : 3 * RECOVERY_MS;
  await Promise.all(
    PROBE_NAMES.map(async (name) => {
      // With growing intervals, so that the guild's rate limit is not reached.
      for (let pause = LOOK_EVERY_MS; ; pause += LOOK_EVERY_MS) {
        const { status, json } = await PROBES[name].call(cell);
        if (status === PROBES[name].well) return;
        if (performance.now() - started > patience) expect.fail(`${name}: ${JSON.stringify(json)}`);
        await wait(pause);
      }
    }),
  );
  return performance.now() - started;
}

/** Polls /livez of every process; returns responses other than 200. */
async function whileWatchingLiveness({ network }: FaultyNetwork, work: () => Promise<void>): Promise<string[]> {
  const over = new AbortController();
  const bad: string[] = [];
  const watch = async (name: string) => {
    while (!over.signal.aborted) {
      const { status } = await fetch(`http://${network.address(name, 'admin')}/livez`);
      if (status !== 200) bad.push(`${name}: ${status}`);
      await wait(LOOK_EVERY_MS, undefined, { signal: over.signal }).catch(() => undefined);
    }
  };
  const watching = Promise.all([...network.services.keys()].map(watch));
  await work().finally(() => over.abort());
  await watching;
  return bad;
}

/** Retries are at most a tenth of the traffic. */
async function checkRetries({ network }: FaultyNetwork): Promise<void> {
  const sum = async (name: string, metric: string) =>
    (await scrapePage(network.address(name, 'admin'))).sum(metric) ?? 0;
  const [retries, requests] = [
    await sum('gateway', 'gateway_retries_total'),
    await sum('gateway', 'http_requests_total'),
  ];
  expect(retries).toBeLessThanOrEqual(requests / 10);
  for (const name of network.services.keys()) {
    const again = await sum(name, 'grpc_client_retries_total');
    expect(again * 10).toBeLessThanOrEqual(await sum(name, 'grpc_client_handled_total'));
  }
}
