import type { OpenApiDocument } from '../../../gateway/openapi/document.ts';
import { operationsOf } from '../generator/operations.ts';

const HELPERS = `import type * as ours from '@guild-data/client';
import type { operations } from './reference.ts';

type Without<Type, Key> = Type extends unknown ? { [Name in keyof Type as Name extends Key ? never : Name]: Type[Name] } : never;
type OrNone<Type> = [Type] extends [never] ? unknown : Type;
type Path<Op extends Operation> = OrNone<Without<NonNullable<Op['parameters']['path']>, 'guildId'>>;
type Query<Op extends Operation> = OrNone<NonNullable<Op['parameters']['query']>>;
type Body<Op> = Op extends { requestBody?: infer Request }
  ? NonNullable<Request> extends { content: { 'application/json': infer Body } } ? Without<Body, 'guild_id'> : unknown
  : unknown;
type Operation = { parameters: { path?: unknown; query?: unknown } };
type Args<Name extends keyof operations> = Path<operations[Name]> & Query<operations[Name]> & Body<operations[Name]>;
type Success<Responses> = Responses extends { 200: infer R } ? R : Responses extends { 201: infer R } ? R : Responses extends { 202: infer R } ? R : never;
type Data<Name extends keyof operations> = Success<operations[Name]['responses']> extends { content: { 'application/json': infer Envelope } }
  ? NonNullable<Envelope['data' & keyof Envelope]>
  : never;
type Returned<Call extends (...args: never[]) => unknown> = Awaited<ReturnType<Call>>;

/** All names in all members of a union: a missing optional field does not prevent assignment. */
type Keys<Type> = Type extends unknown ? keyof { [Name in keyof Type as string extends Name ? never : Name]: 0 } : never;
type Same<One, Other> = 0 extends 1 & Other
  ? 'the type of the document is any'
  : [One] extends [Other]
  ? [Other] extends [One]
    ? [Keys<One>] extends [Keys<Other>]
      ? [Keys<Other>] extends [Keys<One>] ? true : 'the client has no such field'
      : 'only the client has such a field'
    : 'the type of the document is not assignable to that of the client'
  : 'the type of the client is not assignable to that of the document';
`;

/** A program that compiles only if the client's types are those of the reference, and the number of its operations. */
export function comparisonOf(document: OpenApiDocument): { text: string; operations: number } {
  const operations = operationsOf(document).filter(({ kind }) => kind !== 'stream');
  const lines = operations.flatMap(({ name, hasArgs }) => {
    const args = `ours.${name.charAt(0).toUpperCase()}${name.slice(1)}Args`;
    return [
      ...(hasArgs ? [`export const ${name}Args: Same<${args}, Args<'${name}'>> = true;`] : []),
      `export const ${name}Data: Same<Returned<typeof ours.${name}>, Data<'${name}'>> = true;`,
    ];
  });
  return { text: `${HELPERS}\n${lines.join('\n')}\n`, operations: operations.length };
}
