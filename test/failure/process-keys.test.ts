import { Client, credentials, Metadata, status } from '@grpc/grpc-js';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { CALL_TOKEN_HEADER, createCallToken } from '#kit/grpc/call-token.ts';
import { ProcessKeys } from '#kit/security/keyring.ts';
import { PRINCIPAL_HEADER, signPrincipal } from '#kit/security/principal.ts';
import { internalKeysOf, parseKeys } from '#kit/security/process-keys.ts';
import { KEY_HOLDERS, OPERATORS } from '#kit/security/purposes.ts';
import { PROCESSES } from '#proto/processes.ts';
import { ROUTES } from '#proto/rest/index.ts';
import { API_PREFIX } from '#proto/rest/route.ts';
import { printFigure } from '../measure/figures.ts';
import { GUILD, type Network, startNetwork } from '../system/system.ts';

let network: Network;
const clients: Client[] = [];

beforeAll(async () => {
  network = await startNetwork();
});
afterAll(async () => {
  for (const client of clients) client.close();
  await network.stop();
});

const OTHERS = Object.keys(PROCESSES).filter((name) => name !== 'lookup');
const HTTP = OTHERS.filter((name) => PROCESSES[name as keyof typeof PROCESSES].servesHttp);
const ERASE = '/guild.common.v1.ErasureService/EraseGuild';
/** Methods that an attacker would call: internal and administrative ones of all services. */
const METHODS: Record<string, string[]> = {
  auth: ['/guild.auth.v1.AuthService/Verify', '/guild.auth.v1.KeyAdminService/CreateKey'],
  bindings: ['/guild.bindings.v1.BindingsService/Evaluate', ERASE],
  members: ['/guild.members.v1.MembersService/GetMemberRoles', ERASE],
  activity: [
    '/guild.activity.v1.DecisionService/DeliverDecision',
    '/guild.activity.v1.CommandAdminService/EnqueueCommands',
  ],
  moderation: [
    '/guild.moderation.v1.ModerationService/Punish',
    '/guild.moderation.v1.ShieldAdminService/AddEntry',
    ERASE,
  ],
  events: [ERASE],
};

/** The keys in lookup's environment, each usable for any purpose. */
function stolen(): ((purpose: string) => ProcessKeys)[] {
  const { internal, admin } = network.secrets;
  const keys = [...parseKeys(internalKeysOf('lookup', { internal: [internal], admin: [admin] })).values()].flat();
  return keys.map((key) => (purpose) => new ProcessKeys(new Map([[purpose, [key]]])));
}

function call(service: string, path: string, token: string): Promise<string> {
  const client = new Client(network.address(service, 'grpc'), credentials.createInsecure());
  clients.push(client);
  const metadata = new Metadata();
  metadata.set(CALL_TOKEN_HEADER, token);
  const same = (bytes: Buffer) => bytes;
  return new Promise((resolve) => {
    client.makeUnaryRequest(path, same, same, Buffer.alloc(0), metadata, (error) =>
      resolve(error ? (status[error.code] ?? '') : 'OK'),
    );
  });
}

it("with lookup's keys an attacker cannot call any other service, whichever caller it claims to be", async () => {
  const callers = [...KEY_HOLDERS, OPERATORS];
  const attempts = Object.entries(METHODS).flatMap(([audience, methods]) =>
    methods.flatMap((method) =>
      callers.flatMap((caller) => stolen().map((ring) => ({ audience, method, caller, ring }))),
    ),
  );
  const answers = new Set<string>();
  for (const { audience, method, caller, ring } of attempts) {
    const token = createCallToken(ring(`call:${caller}:${audience}`), { caller, audience, method }, Date.now());
    answers.add(await call(audience, method, token));
  }
  expect([...answers]).toEqual(['UNAUTHENTICATED']);
  printFigure("call tokens forged with lookup's environment", `${attempts.length}, all rejected`);
}, 60_000);

it("with lookup's keys an attacker cannot sign a principal for any other service", async () => {
  const principal = {
    keyId: `${GUILD}-1`,
    keyPrefix: 'test',
    guildId: GUILD,
    scopes: null,
    legacy: true,
    requestId: 'test',
  };
  const statuses = new Set<number>();
  for (const audience of HTTP) {
    const route = ROUTES.find(({ service, method }) => service === audience && method === 'GET');
    const target = API_PREFIX + (route?.path ?? '').replace(':guildId', GUILD).replaceAll(/:[A-Za-z]+/g, '7');
    for (const ring of stolen()) {
      const signed = signPrincipal(
        ring(`principal:${audience}`),
        principal,
        { audience, method: 'GET', target },
        Date.now(),
      );
      const url = `http://${network.address(audience, 'http')}${target}`;
      statuses.add((await fetch(url, { headers: { [PRINCIPAL_HEADER]: signed } })).status);
    }
  }
  expect(HTTP).toHaveLength(6);
  expect([...statuses]).toEqual([401]);
});

it("with lookup's keys an attacker cannot read the gateway's /keys page, which operators can read", async () => {
  const { internal, admin } = network.secrets;
  const url = `http://${network.address('gateway', 'admin')}/keys`;
  const read = async (ring: ProcessKeys | undefined, caller = OPERATORS) => {
    const token = ring && createCallToken(ring, { caller, audience: 'gateway', method: 'GET /keys' }, Date.now());
    return (await fetch(url, { headers: token ? { [CALL_TOKEN_HEADER]: token } : {} })).status;
  };
  const forged = await Promise.all(stolen().map((ring) => read(ring('call:operators:gateway'))));
  expect(new Set(forged)).toEqual(new Set([401]));
  expect(await read(undefined)).toBe(401);
  const operators = new ProcessKeys(parseKeys(internalKeysOf('guildctl', { internal: [internal], admin: [admin] })));
  expect(await read(operators)).toBe(200);
  expect((await fetch(url.replace('keys', 'metrics'))).status).toBe(200);
});
