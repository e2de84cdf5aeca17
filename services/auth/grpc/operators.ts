import type { Clock } from '#kit/clock.ts';
import type { GrpcHandlers } from '#kit/grpc/definition.ts';
import { currentOperator, digestOf, sealTicket } from '#kit/grpc/operators.ts';
import { decodeCursor } from '#kit/http/cursor.ts';
import { checked } from '#kit/http/validate.ts';
import type { KeyRing } from '#kit/security/keyring.ts';
import type { OperatorAdminServiceService } from '#proto/gen/guild/auth/v1/operators.ts';
import type { Authority } from '../domain/operators/guard.ts';
import type { Operators } from '../domain/operators/operators.ts';
import { nextCursor } from './admin.ts';
import { requests } from './requests.ts';
import { operatorView } from './views.ts';

export interface OperatorHandlersOptions {
  authority: Authority;
  operators: Operators;
  /** Holds the key `ticket:<service>` of each service. */
  tickets: KeyRing;
  /** By which services judge tickets. */
  clock: Clock;
}

/** What guildctl calls before it calls another service, and to manage operators. */
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
      await authority.allow(operator, call, request, note);
      return { ticket: sealTicket(tickets, { ...call, operator, digest: digestOf(request) }, clock.now()), operator };
    },
    addOperator: async ({ name, role, publicKey, note }) => {
      const asked = checked(requests.addOperator, { name, role, public_key: publicKey, note });
      return { operator: operatorView(await operators.add({ ...asked, publicKey: asked.public_key })) };
    },
    revokeOperator: async (message) => {
      const { name, note } = checked(requests.revokeOperator, message);
      return { operator: operatorView(await operators.revoke(name, note)) };
    },
    listOperators: async (message) => {
      const { limit, cursor } = checked(requests.page, message);
      const scope = { route: 'operators', guildId: '' };
      const found = await operators.list(cursor === '' ? '' : decodeCursor(scope, cursor, 'request.cursor'), limit);
      return { operators: found.map(operatorView), nextCursor: nextCursor(scope, found, limit, ({ name }) => name) };
    },
  };
}
