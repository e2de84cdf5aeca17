import { Client, credentials, Metadata, status } from '@grpc/grpc-js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CALL_TOKEN_HEADER, type Call, createCallToken } from '#kit/grpc/call-token.ts';
import type { DefinitionShape } from '#kit/grpc/definition.ts';
import { createTicket, digestOf, TICKET_HEADER } from '#kit/grpc/operators.ts';
import { SecretRing } from '#kit/security/keyring.ts';
import { OPERATORS } from '#kit/security/purposes.ts';
import { PROCESSES } from '#proto/processes.ts';
import { filesBelow } from '../contract/sources.ts';
import { printFigure } from '../measure/figures.ts';
import { type Network, startNetwork } from '../system/system.ts';

let network: Network;
const clients = new Map<string, Client>();

beforeAll(async () => {
  network = await startNetwork({ environment: { GRPC_REFLECTION: 'true' } });
});
afterAll(async () => {
  for (const client of clients.values()) client.close();
  await network.stop();
});

interface Method {
  path: string;
  /** `guild.auth.v1.AuthService`. */
  contract: string;
  service: string;
  isAdmin: boolean;
}

/** Contracts that several services implement. */
const SHARED: Record<string, string[]> = {
  'guild.common.v1.QueueAdminService': ['auth', 'lookup', 'bindings', 'members', 'activity', 'moderation'],
  'guild.common.v1.ErasureService': ['auth', 'lookup', 'bindings', 'members', 'activity', 'moderation', 'events'],
  'guild.common.v1.GuildStateService': ['lookup', 'bindings', 'members', 'activity', 'moderation', 'events'],
  'guild.common.v1.UsageService': ['lookup', 'bindings', 'members', 'activity', 'moderation', 'events'],
};
/** The shared contracts that operators call. */
const OF_OPERATORS = [
  'guild.common.v1.QueueAdminService',
  'guild.common.v1.ErasureService',
  'guild.auth.v1.GuildDoctorService',
];

/** Every method of every contract in each service that implements it. */
async function allMethods(): Promise<Method[]> {
  const methods: Method[] = [];
  for (const file of filesBelow('proto/gen/guild', /\.ts$/)) {
    const module = (await import(`../../proto/gen/guild/${file.split('/gen/guild/')[1]}`)) as Record<string, unknown>;
    for (const [name, definition] of Object.entries(module)) {
      if (!name.endsWith('ServiceService')) continue;
      for (const { path } of Object.values(definition as DefinitionShape)) {
        const contract = path.split('/')[1] ?? '';
        const isAdmin = contract.includes('Admin') || OF_OPERATORS.includes(contract);
        const services = SHARED[contract] ?? [contract.split('.')[1] ?? ''];
        methods.push(...services.map((service) => ({ path, contract, service, isAdmin })));
      }
    }
  }
  return methods;
}

const METHODS = await allMethods();
const MINUTE = 60_000;

const CALLERS: Record<string, string> = Object.fromEntries(
  Object.entries(PROCESSES).flatMap(([caller, { calls }]) => calls.map((service) => [service, caller])),
);
/** Contracts that only one of a service's callers may use. */
const RESERVED: Record<string, string> = {
  'guild.auth.v1.AuthService': 'gateway',
  'guild.auth.v1.ConsoleService': 'console',
  'guild.auth.v1.InteractionService': 'gateway',
  'guild.events.v1.AuditFeedService': 'auth',
};

/** A process that may call a method; for methods that no process calls, one that may not. */
const callerOf = ({ isAdmin, service, contract }: Method) =>
  isAdmin ? OPERATORS : (RESERVED[contract] ?? CALLERS[service] ?? 'lookup');
const isCalled = ({ isAdmin, service }: Method) => isAdmin || service in CALLERS;

function rings({ isAdmin }: Method): { own: SecretRing; other: SecretRing } {
  const [internal, admin] = [network.secrets.internal, network.secrets.admin].map((secret) => new SecretRing([secret]));
  if (!internal || !admin) throw new Error('no secrets');
  return isAdmin ? { own: admin, other: internal } : { own: internal, other: admin };
}

const callOf = (method: Method): Call => ({
  caller: callerOf(method),
  audience: method.service,
  method: method.path,
});
/** All services except auth accept tickets from operators, and no call tokens. */
const takesTicket = ({ isAdmin, service }: Method) => isAdmin && service !== 'auth';

/** The request type of a method, for a call without a message. */
function sign(method: Method, ring: SecretRing, call: Call, now = Date.now()): string {
  if (!takesTicket(method)) return createCallToken(ring, call, now);
  const { audience: service, method: path, caller: operator } = call;
  return createTicket(ring, { service, method: path, operator, digest: digestOf(Buffer.alloc(0)) }, now);
}

const good = (method: Method, change: Partial<Call> = {}, now = Date.now()) =>
  sign(method, rings(method).own, { ...callOf(method), ...change }, now);
/** A ticket names no process, because any operator may be in it. */
const unlessTicket = (method: Method, token: string) => (takesTicket(method) ? [] : [token]);

/** A validly signed token with other contents. */
function changed(token: string, change: object): string {
  const [payload = '', mac = ''] = token.split('.');
  const contents = JSON.parse(Buffer.from(payload, 'base64url').toString()) as object;
  return `${Buffer.from(JSON.stringify({ ...contents, ...change })).toString('base64url')}.${mac}`;
}

/** A process that may not call the service of a method. */
const strangerTo = ({ service }: Method) => (service === 'events' ? 'gateway' : 'lookup');
/** A caller of the service of a method that may not use the method's contract, if there is one. */
const neighbourOf = (method: Method) =>
  RESERVED[method.contract] &&
  Object.entries(PROCESSES).find(
    ([name, { calls }]) => (calls as readonly string[]).includes(method.service) && name !== callerOf(method),
  )?.[0];

/** All kinds of invalid tokens. */
const FORGERIES: Record<string, (method: Method) => string[]> = {
  'is not there': () => [],
  'is empty': () => [''],
  'is junk': () => ['junk'],
  'is junk with a dot': () => ['e30.AAAA'],
  'is not signed': (method) => [`${good(method).split('.')[0]}.`],
  'is signed with another secret': (method) => [sign(method, new SecretRing(['x'.repeat(32)]), callOf(method))],
  'is signed with the secret of the other kind of caller': (method) => [
    sign(method, rings(method).other, callOf(method)),
  ],
  'has expired': (method) => [good(method, {}, Date.now() - MINUTE)],
  'is of the future': (method) => [good(method, {}, Date.now() + MINUTE)],
  'was lengthened': (method) => [changed(good(method, {}, Date.now() - MINUTE), { at: Date.now() })],
  'names another caller than was signed': (method) => [changed(good(method), { caller: 'guildctl' })],
  'names nobody': (method) => [changed(good(method), { caller: undefined, operator: undefined })],
  'names a process that may not call it': (method) =>
    unlessTicket(method, good(method, { caller: strangerTo(method) })),
  'names a process that may call only other contracts of the service': (method) => {
    const caller = neighbourOf(method);
    return caller === undefined ? [] : [good(method, { caller })];
  },
  'names the called service itself': (method) => unlessTicket(method, good(method, { caller: method.service })),
  'is of operators, and signed with the secret of processes': (method) => [
    sign(method, new SecretRing([network.secrets.internal]), { ...callOf(method), caller: OPERATORS }),
  ],
  'names another method than was signed': (method) => [
    changed(good(method, { method: '/x.Y/Z' }), { method: method.path }),
  ],
  'was for another method': (method) => [good(method, { method: `${method.path}2` })],
  'was for another method of the same contract': (method) => {
    const other = METHODS.find(({ contract, path }) => contract === method.contract && path !== method.path);
    return [good(method, { method: other?.path ?? `${method.path}2` })];
  },
  'was for another service': (method) => [good(method, { audience: method.service === 'auth' ? 'lookup' : 'auth' })],
  'is a call token where a ticket is taken, or the other way round': (method) => [
    takesTicket(method) ? createCallToken(rings(method).own, callOf(method), Date.now()) : 'e30.AAAA',
  ],
  'comes behind another': (method) => ['junk', good(method)],
};

/** The gRPC status of a call with these tokens. */
function call(method: Method, tokens: readonly string[], message: Buffer): Promise<string> {
  const address = network.address(method.service, 'grpc');
  const client = clients.get(address) ?? new Client(address, credentials.createInsecure());
  clients.set(address, client);
  const metadata = new Metadata();
  for (const token of tokens) metadata.add(takesTicket(method) ? TICKET_HEADER : CALL_TOKEN_HEADER, token);
  const same = (bytes: Buffer) => bytes;
  // Only for calls that hang: a busy machine needs seconds for all methods at once.
  const deadline = { deadline: Date.now() + 10_000 };
  return new Promise((resolve) => {
    client.makeUnaryRequest(method.path, same, same, message, metadata, deadline, (error) =>
      resolve(error ? (status[error.code] ?? '') : 'OK'),
    );
  });
}

/** Not a valid protocol buffers message. */
const GARBAGE = Buffer.from([0xff, 0xff, 0xff]);

describe('every method of every service rejects a caller whose token', () => {
  it.each(Object.entries(FORGERIES))('%s, whatever the message', async (_what, forge) => {
    for (const message of [Buffer.alloc(0), GARBAGE]) {
      const answers = await Promise.all(METHODS.map((method) => call(method, forge(method), message)));
      const admitted = METHODS.filter((_method, index) => answers[index] !== 'UNAUTHENTICATED');
      expect(admitted.map(({ path }) => path)).toEqual([]);
    }
  });

  it('and accepts each of them with a valid one', async () => {
    const answers = await Promise.all(METHODS.map((method) => call(method, [good(method)], Buffer.alloc(0))));
    const rejected = METHODS.filter((_method, index) => /UNAUTHENTICATED|UNIMPLEMENTED/.test(answers[index] ?? ''));
    expect(rejected).toEqual(METHODS.filter((method) => !isCalled(method)));
    expect(new Set(METHODS.map(({ service }) => service)).size).toBe(7);
    printFigure(
      'forged call tokens',
      `${Object.keys(FORGERIES).length} on each of ${METHODS.length} methods, all rejected`,
    );
  });
});

describe('gRPC reflection', () => {
  it.each(['auth', 'lookup', 'bindings', 'members', 'activity', 'moderation', 'events'])(
    'of %s lists only its own contracts',
    async (service) => {
      const client = new Client(network.address(service, 'grpc'), credentials.createInsecure());
      clients.set(`reflection of ${service}`, client);
      const same = (bytes: Buffer) => bytes;
      const listServices = Buffer.from([0x3a, 0]);
      const listed = await new Promise<string>((resolve, reject) => {
        const path = '/grpc.reflection.v1.ServerReflection/ServerReflectionInfo';
        client.makeUnaryRequest(path, same, same, listServices, (error, answer) =>
          error ? reject(error) : resolve(String(answer)),
        );
      });
      const contracts = [...new Set(METHODS.map(({ contract }) => contract))];
      const own = METHODS.filter((method) => method.service === service).map(({ contract }) => contract);
      expect(contracts.filter((contract) => listed.includes(contract)).toSorted()).toEqual(
        [...new Set(own)].toSorted(),
      );
    },
  );
});
