import { type ExampleRequest, GUILD } from './request.ts';

const READ_DATA = 'const { data } = await response.json();';
const READ_STREAM = 'for await (const text of response.body.pipeThrough(new TextDecoderStream())) console.log(text);';

/** Returns a call of fetch that sends a request, for a module with the constants API, KEY and GUILD. */
export function typescriptOf({ method, target, needsKey, namesGuildInHeader, body, isStream }: ExampleRequest): string {
  const headers = [
    ...(needsKey ? ["'X-API-Key': KEY"] : []),
    ...(namesGuildInHeader ? ["'X-Guild-ID': GUILD"] : []),
    ...(body === undefined ? [] : ["'Content-Type': 'application/json'"]),
  ];
  const options = [
    ...(method === 'GET' ? [] : [`  method: '${method}',`]),
    ...(headers.length > 0 ? [`  headers: { ${headers.join(', ')} },`] : []),
    ...(body === undefined ? [] : [`  body: JSON.stringify(${valueOf(body, '  ')}),`]),
  ];
  const url = `\`\${API}${target.replaceAll(GUILD, `\${GUILD}`)}\``;
  const call = options.length === 0 ? `fetch(${url})` : `fetch(${url}, {\n${options.join('\n')}\n})`;
  return `const response = await ${call};\n${isStream ? READ_STREAM : READ_DATA}`;
}

/** Writes a JSON value as TypeScript, with one line for each field. */
function valueOf(value: unknown, indent: string): string {
  if (value === GUILD) return 'GUILD';
  if (typeof value === 'string') return stringOf(value);
  if (Array.isArray(value)) return `[${value.map((item) => valueOf(item, indent)).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const entries = Object.entries(value);
  if (entries.length === 0) return '{}';
  const lines = entries.map(([name, item]) => `${indent}  ${nameOf(name)}: ${valueOf(item, `${indent}  `)},`);
  return `{\n${lines.join('\n')}\n${indent}}`;
}

const nameOf = (name: string) => (/^[A-Za-z_]\w*$/.test(name) ? name : stringOf(name));

const stringOf = (text: string) =>
  `'${JSON.stringify(text).slice(1, -1).replaceAll(String.raw`\"`, '"').replaceAll("'", String.raw`\'`)}'`;
