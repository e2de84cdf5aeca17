import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { redactKeys } from '#kit/security/redact.ts';
import { ROUTES } from '#proto/rest/index.ts';
import { printFigure } from '../measure/figures.ts';
import { type Network, startNetwork } from '../system/system.ts';
import { type MatrixKeys, makeMatrixKeys } from './authorisation/keys.ts';
import { cells } from './authorisation/matrix.ts';
import { MUTANTS } from './authorisation/mutants.ts';
import { runProbes } from './authorisation/probes.ts';
import { runMatrix } from './authorisation/run.ts';
import { type Front, startFront } from './bytes/front.ts';

// Spies call through until a test replaces one.
vi.mock('#kit/http/guild.ts', { spy: true });
vi.mock('#kit/security/principal.ts', { spy: true });
vi.mock('#kit/http/validate.ts', { spy: true });
vi.mock('#kit/downstream/client-address.ts', { spy: true });
vi.mock('#kit/downstream/headers.ts', { spy: true });
vi.mock('#kit/downstream/guard.ts', { spy: true });
vi.mock('#gateway/steps/guild.ts', { spy: true });
vi.mock('#gateway/steps/limit.ts', { spy: true });
vi.mock('#gateway/steps/scope.ts', { spy: true });
vi.mock('#proto/rest/scopes.ts', { spy: true });

const CELLS = cells();

let network: Network;
let keys: MatrixKeys;
let front: Front;
let cappedKey: string;

beforeAll(async () => {
  network = await startNetwork({ redisUrl: null, environment: { TRUSTED_PROXIES: '127.0.0.0/8' } });
  keys = await makeMatrixKeys(network, CELLS);
  cappedKey = (await network.createKey({ rateLimit: 2 })).secret;
  front = await startFront();
}, 120_000);
afterAll(async () => {
  await front.stop();
  await network.stop();
});
afterEach(() => {
  vi.resetAllMocks();
  vi.restoreAllMocks();
});

/** A gateway with fresh counters. */
async function freshGateway(): Promise<void> {
  await network.services.get('gateway')?.stop();
  await network.startOne('gateway');
}

describe('the authorisation matrix', () => {
  it('every route x scope x guild x way to give the guild, and every invalid key', { timeout: 300_000 }, async () => {
    const started = performance.now();
    const mismatches = await runMatrix(network.api, keys.assign(CELLS));
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    printFigure('authorisation matrix', `${CELLS.length} cells of ${ROUTES.length} routes in ${seconds} s`);
    expect(mismatches.slice(0, 10)).toEqual([]);
  });

  it('cases outside of the matrix', async () => {
    expect(await runProbes(network, front, cappedKey)).toEqual([]);
  });
});

describe('without one check, the matrix or another test fails:', () => {
  it.each(MUTANTS)('$check', { timeout: 300_000 }, async ({ check, apply }) => {
    await freshGateway();
    apply();
    const [fault] = await runProbes(network, front, cappedKey);
    const [mismatch] = fault ? [] : await runMatrix(network.api, keys.assign(CELLS), { first: true });
    const found = mismatch ? `${mismatch.title}: ${JSON.stringify(mismatch.got)}` : fault;
    printFigure(`without "${check}"`, redactKeys(found ?? 'nothing fails'));
    expect(found).toBeDefined();
  });
});
