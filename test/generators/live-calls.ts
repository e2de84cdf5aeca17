import { join } from 'node:path';
import { isEventStream, type OpenApiDocument } from '#gateway/openapi/document.ts';
import { NUMBERS } from '#gateway/postman/folders.ts';
import { foldersOf, type Step, variablesOf } from '#gateway/postman/steps.ts';
import { successStatuses } from './call-files.ts';
import type { LocalSystem } from './local-system.ts';

const CLIENTS = ['openapi-fetch', 'hey-api'];
const STREAM_MS = 10_000;

type Values = Record<string, string | number>;
/** What both clients return; a stream of hey-api has neither. */
interface Result {
  response?: Response;
  data?: unknown;
  error?: unknown;
  stream?: AsyncIterable<unknown>;
}
type Calls = Record<string, (values: Values) => Promise<Result>>;

/** Calls every operation of a running system with each generated client, and expects the documented success. */
export async function checkClients(document: OpenApiDocument, build: string, system: LocalSystem): Promise<void> {
  const folders = foldersOf(document);
  for (const client of CLIENTS) {
    const begun = Date.now();
    const { callsOf } = await import(join(build, `js/build/calls-${client}.js`));
    const calls: Calls = callsOf(system.url, system.key);
    const values: Values = { guildId: system.guildId, ...variablesOf(folders) };
    const steps = folders.flatMap((folder) => folder.steps);
    for (const step of steps) await makeCall(client, calls, step, values);
    await resetVerification(system);
    console.log(`${client}: ${steps.length} calls in ${((Date.now() - begun) / 1000).toFixed(1)} s`);
  }
}

async function makeCall(client: string, calls: Calls, step: Step, values: Values): Promise<void> {
  const { operationId } = step.operation;
  const result = await calls[operationId]?.(values);
  if (!result) throw new Error(`${client} has no ${operationId}`);
  if (isEventStream(step.operation)) return checkStream(client, result);
  const { response, data, error } = result;
  if (!response || !successStatuses(step).includes(response.status)) {
    throw new Error(`${client}: ${operationId} got ${response?.status}: ${JSON.stringify(error)}`);
  }
  for (const [variable, path] of Object.entries(step.kept)) {
    const value = path.split('.').reduce<unknown>((inside, name) => (inside as Record<string, unknown>)[name], data);
    values[variable] = NUMBERS.includes(variable) ? Number(value) : String(value);
  }
}

/** Reads the beginning of a stream of events, and ends it. */
async function checkStream(client: string, { response, data, stream }: Result): Promise<void> {
  const timeout = AbortSignal.timeout(STREAM_MS);
  const first = stream ? stream[Symbol.asyncIterator]() : (data as ReadableStream | null)?.[Symbol.asyncIterator]();
  const failed = new Promise<never>((_, reject) => {
    timeout.addEventListener('abort', () => reject(new Error(`${client}: the stream sent nothing`)));
  });
  if (response && response.status !== 200) throw new Error(`${client}: the stream got ${response.status}`);
  const read = await Promise.race([first?.next(), failed]);
  if (read?.done !== false) throw new Error(`${client}: the stream ended`);
  await first?.return?.(undefined);
}

/** Removes the link that redeeming a token creates, so that the next client can create it again. */
async function resetVerification({ url, key, guildId }: LocalSystem): Promise<void> {
  await fetch(`${url}/api/v1/verification/unlink`, {
    method: 'POST',
    headers: { 'x-api-key': key, 'content-type': 'application/json' },
    body: JSON.stringify({ guild_id: guildId, game_id: 7005 }),
  });
}
