import { CATEGORIES, WINDOW_SECONDS } from '#proto/rest/limits.ts';
import type { Route } from '#proto/rest/route.ts';
import { type Argument, argumentsOf, optionalIf } from './luau-type.ts';

/** The line at the top of every generated file. */
export const GENERATED = '-- Written by clients/luau/generate.ts from the route table. Do not edit.';

/** The path and body fields that the module fills in from its settings. */
const GUILD_FIELDS = new Set(['guildId', 'guild_id']);

export const functionName = ({ operationId, name }: Route): string => operationId ?? name;

const argumentsType = (route: Route) => {
  const name = functionName(route);
  return `${name.charAt(0).toUpperCase()}${name.slice(1)}Args`;
};

/** Returns what the caller of an operation passes: path, query and body parameters, without the guild. */
export function callerArguments({ params, query, body }: Route): Argument[] {
  return [params, query, body]
    .flatMap((schema) => (schema ? argumentsOf(schema) : []))
    .filter(({ name }) => !GUILD_FIELDS.has(name));
}

/** Returns the source of a module with a function for each of the routes, not yet formatted. */
export function operationModule(group: string, routes: readonly Route[]): string {
  return [
    '--!strict',
    GENERATED,
    '',
    'local Call = require(script.Parent.Parent.Call)',
    '',
    ...routes.flatMap(argumentsDeclaration),
    `export type ${group} = {`,
    ...routes.flatMap((route) => [...docComment(route), `${functionName(route)}: ${signature(route)},`]),
    '}',
    '',
    `local ${group} = {}`,
    '',
    `--- Returns the functions, which make their calls with \`request\`.`,
    `function ${group}.new(request: Call.Request): ${group}`,
    'return {',
    ...routes.flatMap(implementation),
    '}',
    'end',
    '',
    `return ${group}`,
    '',
  ].join('\n');
}

function argumentsDeclaration(route: Route): string[] {
  const all = callerArguments(route);
  if (all.length === 0) return [];
  return [
    `--- The arguments of \`${functionName(route)}\`.`,
    `export type ${argumentsType(route)} = {`,
    ...all.flatMap(({ name, type, isRequired, description }) => [
      ...(description ? [`--- ${description}.`] : []),
      `${name}: ${optionalIf(!isRequired, type)},`,
    ]),
    '}',
    '',
  ];
}

function argumentsParameter(route: Route): string {
  const all = callerArguments(route);
  if (all.length === 0) return 'Call.Args?';
  return optionalIf(!all.some(({ isRequired }) => isRequired), argumentsType(route));
}

const signature = (route: Route) => `(args: ${argumentsParameter(route)}, options: Call.Options?) -> Call.Result`;

function docComment(route: Route): string[] {
  const text = [`${route.summary}.`, route.description, accessOf(route)].filter(Boolean).join(' ');
  return wrap(text, 100).map((line) => `--- ${line}`);
}

function accessOf({ scope, category }: Route): string {
  const needs = scope ? `Needs the scope \`${scope}\`.` : 'Any valid key may call it.';
  if (!category) return needs;
  const { limit, per } = CATEGORIES[category];
  return `${needs} Limit: ${limit} requests in ${WINDOW_SECONDS} s for the ${per}.`;
}

function wrap(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(/\s+/)) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + word.length < width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

function implementation(route: Route): string[] {
  const { method, path, category, guild, writes, body } = route;
  const name = functionName(route);
  return [
    `${name} = function(args: ${argumentsParameter(route)}, options: Call.Options?)`,
    'return request({',
    `name = "${name}",`,
    `method = "${method}",`,
    `path = "${path}",`,
    ...(category ? [`category = "${category}",`, `limit = ${CATEGORIES[category].limit},`] : []),
    `guild = "${guild}",`,
    ...(writes ? ['writes = true,'] : []),
    ...(body ? ['body = true,'] : []),
    '}, args :: any, options)',
    'end,',
  ];
}

/** Returns the source of the module that combines the others, not yet formatted. */
export function indexModule(groups: readonly string[]): string {
  return [
    '--!strict',
    GENERATED,
    '',
    'local Call = require(script.Parent.Call)',
    ...groups.map((group) => `local ${group} = require(script.${group})`),
    '',
    '--- Every operation of the API except the stream of events, which only Studio can read.',
    `export type Api = ${groups.map((group) => `${group}.${group}`).join(' & ')}`,
    '',
    'local Operations = {}',
    '',
    '--- Returns the functions of all modules in one table.',
    'function Operations.new(request: Call.Request): Api',
    'local api: { [string]: any } = {}',
    `local parts: { any } = { ${groups.map((group) => `${group}.new(request)`).join(', ')} }`,
    'for _, part in parts do',
    'for name, operation in part do',
    'api[name] = operation',
    'end',
    'end',
    'return api :: any',
    'end',
    '',
    'return Operations',
    '',
  ].join('\n');
}
