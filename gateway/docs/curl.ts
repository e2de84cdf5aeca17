import { type Components, type Operation, type Parameter, resolveRef } from '../openapi/document.ts';

/**
 * The shell variable that holds the guild ID. In the JSON body it is a placeholder, until the JSON is quoted for the
 * shell.
 */
const GUILD = '$GUILD';

/**
 * Returns a curl command that calls an operation, for a POSIX shell with the variables API, KEY and GUILD. The command
 * has the required parameters and the body, with the example values of the OpenAPI document.
 */
export function curlOf(method: string, path: string, operation: Operation, components: Components): string {
  const parameters = (operation.parameters ?? []).map((parameter) => resolveRef<Parameter>(components, parameter));
  const required = parameters.filter((parameter) => parameter.required);
  const body = operation.requestBody?.content['application/json'].example;
  const verb = method === (body === undefined ? 'get' : 'post') ? '' : `-X ${method.toUpperCase()} `;
  return [
    `curl -s ${verb}"$API${withValues(path, required)}"`,
    ...(operation.security?.length === 0 ? [] : ['-H "X-API-Key: $KEY"']),
    ...required.filter(({ name }) => name === 'X-Guild-ID').map(() => '-H "X-Guild-ID: $GUILD"'),
    ...(body === undefined ? [] : ["-H 'Content-Type: application/json'", `-d ${quoteJson(body)}`]),
  ].join(' \\\n  ');
}

function withValues(path: string, required: Parameter[]): string {
  const filled = path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    name === 'guildId' ? GUILD : encodeURIComponent(String(required.find((found) => found.name === name)?.example)),
  );
  const query = required.filter((parameter) => parameter.in === 'query');
  if (query.length === 0) return filled;
  return `${filled}?${query.map(({ name, example }) => `${name}=${encodeURIComponent(String(example))}`).join('&')}`;
}

/** Quotes a JSON body for the shell with single quotes, except the guild ID, which is a shell variable. */
function quoteJson(body: unknown): string {
  const withGuild =
    typeof body === 'object' && body !== null && 'guild_id' in body ? { ...body, guild_id: GUILD } : body;
  const quoted = JSON.stringify(withGuild).replaceAll("'", String.raw`'\''`);
  return `'${quoted.replace(`"${GUILD}"`, `"'"${GUILD}"'"`)}'`;
}
