import { type ExampleRequest, GUILD } from './request.ts';

/** Returns a curl command that sends a request, for a POSIX shell with the variables API, KEY and GUILD. */
export function curlOf({ method, target, needsKey, namesGuildInHeader, body, isStream }: ExampleRequest): string {
  const verb = method === (body === undefined ? 'GET' : 'POST') ? '' : `-X ${method} `;
  return [
    `curl -s${isStream ? 'N' : ''} ${verb}"$API${target}"`,
    ...(needsKey ? ['-H "X-API-Key: $KEY"'] : []),
    ...(namesGuildInHeader ? ['-H "X-Guild-ID: $GUILD"'] : []),
    ...(body === undefined ? [] : ["-H 'Content-Type: application/json'", `-d ${quoteJson(body)}`]),
  ].join(' \\\n  ');
}

/** Quotes a JSON body for the shell with single quotes, except the guild ID, which is a shell variable. */
function quoteJson(body: unknown): string {
  const quoted = JSON.stringify(body).replaceAll("'", String.raw`'\''`);
  return `'${quoted.replace(`"${GUILD}"`, `"'"${GUILD}"'"`)}'`;
}
