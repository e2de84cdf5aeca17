import { randomBytes } from 'node:crypto';
import { makeCredential, readCredential } from '#kit/grpc/operators.ts';
import { type Operator, OperatorAdminServiceService } from '#proto/gen/guild/auth/v1/operators.ts';
import { ACTOR_OPTION, type Command, type Input } from '../command.ts';
import type { Connections } from '../connections.ts';
import { listOutput, PAGE_NOTES, PAGE_OPTIONS, PAGE_USAGE, readPageOptions } from '../pages.ts';
import { required } from '../responses.ts';
import { properties, time } from '../text.ts';

const ROLE_NOTES = [
  '--role ROLE      viewer: lists and reads',
  '                 support: also flags players, sends commands, revokes a key',
  '                 admin: also creates and changes keys, staff and guilds, exports and erases',
  '                 owner: also adds and revokes operators',
];

const add: Command = {
  name: 'operators add',
  usage: 'NAME --role ROLE [--actor NOTE]',
  notes: [
    ...ROLE_NOTES,
    'The credential is created here: auth receives only its public key. The operator sets it as OPERATOR_CREDENTIAL.',
  ],
  argument: 'NAME',
  options: { role: { type: 'string' }, ...ACTOR_OPTION },
  run: async (input, connections) => {
    const name = requiredName(input);
    const role = input.requiredText('role');
    input.check();
    const credential = makeCredential(name, randomBytes);
    const publicKey = readCredential(credential)?.publicKey;
    if (!publicKey) {
      input.fault('NAME must be 2 to 32 of a-z, 0-9 and -, beginning with a letter');
      input.check();
    }
    const request = { name, role, publicKey: publicKey ?? Buffer.alloc(0), note: input.note };
    const { operator } = await admin(connections).addOperator(request);
    const added = required(operator, 'operator');
    return {
      document: { ...operatorDocument(added), credential },
      text: `${operatorText(added)}\n\nThe credential, which is not shown again:\n${credential}`,
    };
  },
};

const revoke: Command = {
  name: 'operators revoke',
  usage: 'NAME [--actor NOTE]',
  notes: ['The audit entries of the operator stay, and the name cannot be used again.'],
  argument: 'NAME',
  options: ACTOR_OPTION,
  run: async (input, connections) => {
    const name = requiredName(input);
    input.check();
    const { operator } = await admin(connections).revokeOperator({ name, note: input.note });
    const revoked = required(operator, 'operator');
    return { document: operatorDocument(revoked), text: operatorText(revoked) };
  },
};

const list: Command = {
  name: 'operators list',
  usage: PAGE_USAGE,
  notes: [...PAGE_NOTES, 'The operator root, who calls with ADMIN_SECRETS, is not listed.'],
  options: PAGE_OPTIONS,
  run: async (input, connections) => {
    const pages = readPageOptions(input);
    input.check();
    return listOutput(pages, {
      field: 'operators',
      none: 'The only operator is root.',
      headings: ['NAME', 'ROLE', 'STATE', 'ADDED', 'BY'],
      cells: (operator: Operator) => [
        operator.name,
        operator.role,
        state(operator),
        time(operator.createdAt),
        operator.createdBy,
      ],
      document: operatorDocument,
      page: async (page) => {
        const { operators, nextCursor } = await admin(connections).listOperators(page);
        return { items: operators, nextCursor };
      },
    });
  },
};

export const operatorCommands: readonly Command[] = [add, revoke, list];

const admin = (connections: Connections) => connections.admin(OperatorAdminServiceService, 'auth');

function requiredName(input: Input): string {
  if (!input.argument) input.fault('the NAME of an operator is required');
  return input.argument ?? '';
}

const state = ({ revokedAt }: Operator) => (revokedAt === undefined ? 'active' : `revoked ${time(revokedAt)}`);

function operatorDocument({ name, role, createdAt, createdBy, revokedAt }: Operator) {
  return { name, role, created_at: createdAt, created_by: createdBy, revoked_at: revokedAt ?? null };
}

function operatorText(operator: Operator): string {
  return properties([
    ['Name', operator.name],
    ['Role', operator.role],
    ['State', state(operator)],
    ['Added', `${time(operator.createdAt)} by ${operator.createdBy}`],
  ]);
}
