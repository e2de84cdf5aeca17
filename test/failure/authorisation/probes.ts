import { PRINCIPAL_HEADER } from '#kit/security/principal.ts';
import { ROUTES } from '#proto/rest/index.ts';
import { wire } from '../../network/raw-http.ts';
import type { Network } from '../../system/system.ts';
import type { Front } from '../bytes/front.ts';
import { sendThrough } from '../bytes/through.ts';

/** Cases outside of the matrix. Each returns a description of what was wrong, or nothing. */
export async function runProbes(network: Network, front: Front, cappedKey: string): Promise<string[]> {
  const faults = [
    await probeServices(network),
    await probeCap(network, cappedKey),
    ...(await probeBytes(front, 'a header with an underscore', 'X_Guild_Id: 1\n')),
    ...(await probeBytes(front, 'a reserved header', 'X-Internal-Key: 1\nX-Guild-Call: 1\n')),
    ...(await probeBytes(front, 'a key that Connection names', 'Connection: X-API-Key\n')),
    ...(await probeBytes(front, 'a header that is for the gateway alone', 'Cookie: a=b\n')),
  ];
  return faults.filter((fault) => fault !== undefined);
}

/** A request to a service that bypasses the gateway. */
async function probeServices(network: Network): Promise<string | undefined> {
  const names = new Set(ROUTES.map(({ service }) => service).filter((name) => name !== 'gateway'));
  for (const name of names) {
    const route = ROUTES.find(({ service, method }) => service === name && method === 'GET');
    const path = (route?.path ?? '').replaceAll(/:[A-Za-z]+/g, '910000000000000000');
    const headers = { [PRINCIPAL_HEADER]: 'e30.AAAA' };
    const { status } = await fetch(`http://${network.address(name, 'http')}/api/v1${path}`, { headers });
    if (status !== 401) return `${name} answered ${status} to a forged principal`;
  }
  return undefined;
}

/** A key with a limit of two requests per minute; three requests may fall into two windows, five exceed both. */
async function probeCap(network: Network, key: string): Promise<string | undefined> {
  const statuses = [];
  for (let count = 0; count < 5; count += 1) statuses.push((await network.call('/whoami', { key })).status);
  return statuses.includes(429) ? undefined : 'a key was let through more often than its cap allows';
}

async function probeBytes(front: Front, what: string, lines: string): Promise<string[]> {
  const { faults } = await sendThrough(front, ({ guild, key }) =>
    wire(`GET /api/v1/lookup/game/7 HTTP/1.1\nHost: x\nX-API-Key: ${key}\nX-Guild-ID: ${guild}\n${lines}\n`),
  );
  return faults().map((fault) => `${what}: ${fault}`);
}
