import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Express, Request, Response } from 'express';
import type { z } from 'zod';
import { requestContext } from '#kit/context.ts';
import { type Address, networkOf } from '#kit/downstream/client-address.ts';
import { ApiError, type Fault, invalidRequest } from '#kit/errors.ts';
import { readJson } from '#kit/http/body.ts';
import { sendBody, successBody } from '#kit/http/envelope.ts';
import { addResponseHeader, writeResponseHead } from '#kit/http/response-headers.ts';
import { splitTarget } from '#kit/http/target.ts';
import { type FaultPlace, readQuery, validate } from '#kit/http/validate.ts';
import {
  CONSOLE_ENDPOINTS,
  CONSOLE_PREFIX,
  type ConsoleEndpoint,
  type ConsoleEndpointName,
} from '#proto/console/api.ts';
import type { Caller } from '#proto/gen/guild/auth/v1/console.ts';
import type { Persons } from '../limits/persons.ts';
import type { ConsoleLimit, Windows } from '../limits/windows.ts';
import type { ConsoleTelemetry } from '../telemetry.ts';
import type { ConsoleHandlers, EndpointRequest, EndpointResult } from './endpoint.ts';
import type { Gate } from './gate.ts';
import { writes } from './origin.ts';

const MAX_USER_AGENT_LENGTH = 200;

/** The endpoints with a limit of their own. */
const LIMITED: Partial<Record<ConsoleEndpointName, ConsoleLimit>> = {
  startSignIn: 'sign_in',
  finishSignIn: 'sign_in',
  startJoin: 'sign_in',
  finishJoin: 'sign_in',
  useLink: 'sign_in',
  createKey: 'sensitive',
  rotateKey: 'sensitive',
  erasePerson: 'sensitive',
  updateKey: 'changes',
  revokeKey: 'changes',
  setAccess: 'changes',
  removeAccess: 'changes',
};

export interface EndpointParts {
  handlers: ConsoleHandlers;
  gate: Gate;
  persons: Persons;
  windows: Windows;
  telemetry: ConsoleTelemetry;
  addressOf: (request: IncomingMessage) => Address | undefined;
}

type Handler = (request: EndpointRequest) => Promise<EndpointResult>;

/** Adds the console's own endpoints to an Express application. */
export function addEndpoints(app: Express, parts: EndpointParts): void {
  for (const [name, endpoint] of Object.entries(CONSOLE_ENDPOINTS) as [ConsoleEndpointName, ConsoleEndpoint][]) {
    const method = endpoint.method.toLowerCase() as 'get' | 'post' | 'put' | 'patch' | 'delete';
    const handler = parts.handlers[name] as unknown as Handler;
    app[method](CONSOLE_PREFIX + endpoint.path, async (request, response) => {
      const context = requestContext.getStore();
      if (context) context.route = name;
      await serve({ ...parts, name, endpoint, handler }, request, response);
    });
  }
}

type Served = EndpointParts & { name: ConsoleEndpointName; endpoint: ConsoleEndpoint; handler: Handler };

async function serve(served: Served, request: Request, response: Response): Promise<void> {
  const { gate, endpoint, handler, addressOf, telemetry, name } = served;
  const address = addressOf(request);
  const work = async (caller: Caller, body: Buffer) => {
    await countRequest(served, caller, address);
    const parts = await readRequest(endpoint, request, body);
    const userAgent = (request.get('user-agent') ?? '').slice(0, MAX_USER_AGENT_LENGTH);
    const result = await handler({ ...parts, caller, userAgent, request, response }).catch((error: unknown) => {
      throw inRequest(error, endpoint);
    });
    if (writes(request) && endpoint.needs !== 'nothing') telemetry.changed(name, request.params.guildId?.toString());
    return result;
  };
  const isOpen = endpoint.needs === 'nothing';
  const browser = { request, response, address };
  sendResult(response, await (isOpen ? gate.withoutSession(browser, work) : gate.withSession(browser, work)));
}

/** Counts a request to an endpoint with a limit of its own. */
async function countRequest(
  { name, windows, persons }: Served,
  caller: Caller,
  address: Address | undefined,
): Promise<void> {
  const limit = LIMITED[name];
  if (!limit) return;
  const subject = caller.sessionToken === '' ? String(networkOf(address)) : await persons.of(caller);
  const rejection = windows.count(limit, subject);
  if (rejection) throw rejection;
}

/** Validates all parts of a request. Throws INVALID_REQUEST that lists all faults. */
async function readRequest(endpoint: ConsoleEndpoint, request: Request, body: Buffer) {
  const query = readQuery(splitTarget(request.originalUrl).query);
  const faults: Fault[] = [];
  const check = (schema: z.ZodType | undefined, value: unknown, place: FaultPlace): unknown => {
    if (!schema) return {};
    const result = validate(schema, value, place);
    faults.push(...(result.faults ?? []));
    return result.value;
  };
  if (endpoint.query) faults.push(...query.faults);
  const parts = {
    params: check(endpoint.params, request.params, 'path'),
    query: check(endpoint.query, query.value, 'query'),
    body: endpoint.body ? check(endpoint.body, await readJson(request, body), 'body') : {},
  };
  if (faults.length > 0) throw invalidRequest(faults);
  return parts;
}

/** Returns an error of auth with the places of the HTTP request instead of those of the gRPC message. */
function inRequest(error: unknown, endpoint: ConsoleEndpoint): unknown {
  if (!(error instanceof ApiError) || error.code !== 'INVALID_REQUEST') return error;
  const { errors } = error.details;
  if (!Array.isArray(errors)) return error;
  const placeOf = (name = '') => {
    if (endpoint.params && name in endpoint.params.shape) return 'path';
    return endpoint.body ? 'body' : 'query';
  };
  return invalidRequest(
    (errors as Fault[]).map(({ path, message }) => ({
      path: path.replace(/^request(?=\.(\w+)|$)/, (_place, name?: string) => placeOf(name)),
      message,
    })),
  );
}

function sendResult(response: ServerResponse, result: EndpointResult): void {
  if (typeof result === 'string') return;
  for (const cookie of result.cookies ?? []) response.appendHeader('set-cookie', cookie);
  if ('data' in result) return sendBody(response, 200, successBody(200, 'OK', result.data));
  addResponseHeader(response, 'location', result.redirect);
  writeResponseHead(response, 303, ['content-length', 0, 'cache-control', 'no-store']);
  response.end();
}
