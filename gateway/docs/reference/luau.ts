import { type ExampleRequest, GUILD } from './request.ts';

/**
 * Returns a call of HttpService that sends a request, for a script with the constants API, KEY and GUILD. HttpService
 * cannot read streams, so there is none for a stream.
 */
export function luauOf(request: ExampleRequest): string | undefined {
  const { method, target, needsKey, namesGuildInHeader, body, isStream } = request;
  if (isStream) return undefined;
  const headers = [
    ...(needsKey ? ['["X-API-Key"] = KEY'] : []),
    ...(namesGuildInHeader ? ['["X-Guild-ID"] = GUILD'] : []),
    ...(body === undefined ? [] : ['["Content-Type"] = "application/json"']),
  ];
  const options = [
    `\tUrl = ${urlOf(target)},`,
    `\tMethod = "${method}",`,
    ...(headers.length > 0 ? [`\tHeaders = { ${headers.join(', ')} },`] : []),
    ...(body === undefined ? [] : [`\tBody = HttpService:JSONEncode(${valueOf(body, '\t')}),`]),
  ];
  return `local response = HttpService:RequestAsync({\n${options.join('\n')}\n})
local data = HttpService:JSONDecode(response.Body).data`;
}

function urlOf(target: string): string {
  const parts = target.split(GUILD).map((part) => (part === '' ? undefined : `"${part}"`));
  const joined = parts.flatMap((part, index) => (index === 0 ? [part] : ['GUILD', part]));
  return ['API', ...joined.filter((part) => part !== undefined)].join(' .. ');
}

/** Writes a JSON value as Luau, with one line for each field. */
function valueOf(value: unknown, indent: string): string {
  if (value === GUILD) return 'GUILD';
  if (typeof value === 'string') return stringOf(value);
  if (value === null) return 'nil';
  if (typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value)) return `{ ${value.map((item) => valueOf(item, indent)).join(', ')} }`;
  const entries = Object.entries(value);
  if (entries.length === 0) return '{}';
  const lines = entries.map(([name, item]) => `${indent}\t${nameOf(name)} = ${valueOf(item, `${indent}\t`)},`);
  return `{\n${lines.join('\n')}\n${indent}}`;
}

const KEYWORDS = new Set(
  'and break do else elseif end false for function if in local nil not or repeat return then true until while'.split(
    ' ',
  ),
);

const nameOf = (name: string) => (/^[A-Za-z_]\w*$/.test(name) && !KEYWORDS.has(name) ? name : `[${stringOf(name)}]`);

/** Writes a Luau string. Luau has the escapes of JSON, except that its Unicode escapes have braces and `/` needs none. */
const stringOf = (text: string) => JSON.stringify(text).replaceAll(/\\u([0-9a-f]{4})/g, String.raw`\u{$1}`);
