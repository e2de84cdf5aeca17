import { randomBytes } from 'node:crypto';
import { makeCredential, readCredential } from '#kit/grpc/operators.ts';
import { type Operator, OperatorAdminServiceService } from '#proto/gen/guild/auth/v1/operators.ts';
import type { Command, Input, Output } from '../command.ts';
import type { Connections } from '../connections.ts';
import { listOutput, PAGE_NOTES, PAGE_OPTIONS, PAGE_USAGE, readPageOptions } from '../pages.ts';
import { properties, time } from '../text.ts';

const ROLES = [
  '--role ROLE      viewer: lists and reads',
  '                 support: also flags players, sends commands, revokes a key',
  '                 admin: also creates and changes keys, staff and guilds, exports and erases',
  '                 owner: also adds and revokes operators',
];

const add: Command = {
  name: 'operators add',
  summary: 'make a credential for a person; it is shown this once',
  usage: 'NAME --role ROLE [--actor NOTE]',
  notes: [
    ...ROLES,
    'The credential is made here: auth is told its public key and nothing else. Its holder sets OPERATOR_CREDENTIAL.',
  ],
  argument: 'NAME',
  options: { role: { type: 'string' }, actor: { type: 'string' } },
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
    const asked = { name, role, publicKey: publicKey ?? Buffer.alloc(0), note: input.note };
    const { operator } = await admin(connections).addOperator(asked);
    const { document, text } = operatorOutput(operator);
    return {
      document: { ...document, credential },
      text: `${text}\n\nThe credential, shown this once:\n${credential}`,
    };
  },
};

const revoke: Command = {
  name: 'operators revoke',
  summary: 'refuse the credential of a person from the next call on',
  usage: 'NAME [--actor NOTE]',
  notes: ['What the operator did stays in the audit, and the name is never given again.'],
  argument: 'NAME',
  options: { actor: { type: 'string' } },
  run: async (input, connections) => {
    const name = requiredName(input);
    input.check();
    const { operator } = await admin(connections).revokeOperator({ name, note: input.note });
    return operatorOutput(operator);
  },
};

const list: Command = {
  name: 'operators list',
  summary: 'who may administer the installation',
  usage: PAGE_USAGE,
  notes: [...PAGE_NOTES, 'Whoever holds ADMIN_SECRETS is the operator root, who is in no list.'],
  options: PAGE_OPTIONS,
  run: async (input, connections) => {
    const pages = readPageOptions(input);
    input.check();
    return listOutput(pages, {
      field: 'operators',
      none: 'There are no operators but root.',
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

function operatorOutput(operator: Operator | undefined): Output & { document: object } {
  if (!operator) throw new Error('the service answered without an operator');
  const text = properties([
    ['Name', operator.name],
    ['Role', operator.role],
    ['State', state(operator)],
    ['Added', `${time(operator.createdAt)} by ${operator.createdBy}`],
  ]);
  return { document: operatorDocument(operator), text };
}
