import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ROUTES } from '#proto/rest/index.ts';
import { printFigure } from '../figures.ts';
import { type Network, startNetwork } from '../network.ts';
import { type MatrixKeys, makeMatrixKeys } from './authorisation/keys.ts';
import { cells } from './authorisation/matrix.ts';
import { runMatrix } from './authorisation/run.ts';

const CELLS = cells();

let network: Network;
let keys: MatrixKeys;

beforeAll(async () => {
  network = await startNetwork({ redisUrl: null, environment: { TRUSTED_PROXIES: '127.0.0.0/8' } });
  keys = await makeMatrixKeys(network, CELLS);
}, 120_000);
afterAll(() => network.stop());

describe('the authorisation matrix', () => {
  it('every route x scope x guild x way to name it, and every fault of a key', { timeout: 300_000 }, async () => {
    const started = performance.now();
    const mismatches = await runMatrix(network.api, keys.assign(CELLS));
    const seconds = ((performance.now() - started) / 1000).toFixed(1);
    printFigure('authorisation matrix', `${CELLS.length} cells of ${ROUTES.length} routes in ${seconds} s`);
    expect(mismatches.slice(0, 10)).toEqual([]);
  });
});
