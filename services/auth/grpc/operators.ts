import type { Clock } from '#kit/clock.ts';
import type { GrpcHandlers } from '#kit/grpc/definition.ts';
import { createTicket, currentOperator, digestOf } from '#kit/grpc/operators.ts';
import { checked } from '#kit/http/validate.ts';
import type { KeyRing } from '#kit/security/keyring.ts';
import type { OperatorAdminServiceService } from '#proto/gen/guild/auth/v1/operators.ts';
import type { Authority } from '../domain/operators/authority.ts';
import type { Operators } from '../domain/operators/operators.ts';
import { nextCursor, positionOf } from './cursors.ts';
import { requests } from './requests.ts';
import { operatorView } from './views.ts';

export interface OperatorHandlersOptions {
  authority: Authority;
  operators: Operators;
  /** The key ring that signs tickets, with the key `ticket:<service>` of each service. */
  tickets: KeyRing;
  /** The clock that sets the issue time of tickets; services use it to check the age of tickets. */
  clock: Clock;
}

/**
 * The methods of the gRPC service OperatorAdminService: guildctl manages operators, and requests a ticket before it
 * calls another service.
 */
export function operatorHandlers({
  authority,
  operators,
  tickets,
  clock,
}: OperatorHandlersOptions): GrpcHandlers<typeof OperatorAdminServiceService> {
  return {
    authorize: async (message) => {
      const { request, note, ...call } = checked(requests.authorize, message);
      const operator = currentOperator();
      await authority.allow({ ...call, operator, request, note });
      return { ticket: createTicket(tickets, { ...call, operator, digest: digestOf(request) }, clock.now()), operator };
    },
    addOperator: async ({ name, role, publicKey, note }) => {
      const { public_key, ...request } = checked(requests.addOperator, { name, role, public_key: publicKey, note });
      return { operator: operatorView(await operators.add({ ...request, publicKey: public_key })) };
    },
    revokeOperator: async (message) => {
      const { name, note } = checked(requests.revokeOperator, message);
      return { operator: operatorView(await operators.revoke(name, note)) };
    },
    listOperators: async (message) => {
      const { limit, cursor } = checked(requests.page, message);
      const scope = { route: 'operators', guildId: '' };
      const found = await operators.list(positionOf(scope, cursor) ?? '', limit);
      return { operators: found.map(operatorView), nextCursor: nextCursor(scope, found, limit, ({ name }) => name) };
    },
  };
}
