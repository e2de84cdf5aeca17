import { generateKeyPairSync, sign } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse, request as sendRequest } from 'node:http';
import { listening } from '../network/listening.ts';

const { privateKey, publicKey } = generateKeyPairSync('ed25519');
const other = generateKeyPairSync('ed25519').privateKey;

/** The public key of the tests' application, as the chat platform shows it. */
export const APPLICATION_PUBLIC_KEY = Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url').toString(
  'hex',
);
export const APPLICATION = '940000000000000001';

let lastId = 1_400_000_000_000_000_000n;
/** Returns the ID of an interaction that no other test uses. */
export const newInteractionId = () => String(++lastId);

/** The headers with which the chat platform signs a body; `byOther` signs with the key of another application. */
export function signatureOf(body: string | Buffer, { now = Date.now(), byOther = false } = {}): Record<string, string> {
  const timestamp = String(Math.floor(now / 1000));
  const signed = Buffer.concat([Buffer.from(timestamp), Buffer.from(body)]);
  const signature = sign(null, signed, byOther ? other : privateKey).toString('hex');
  return { 'x-signature-ed25519': signature, 'x-signature-timestamp': timestamp, 'content-type': 'application/json' };
}

export interface UsedCommand {
  guildId: string;
  chatId: string;
  name: string;
  options?: Record<string, string | number>;
  permissions?: bigint;
  id?: string;
}

/** The body of the interaction with which the chat platform reports that a member used a command. */
export function commandBody({ guildId, chatId, name, options = {}, permissions = 0n, id }: UsedCommand): string {
  const interactionId = id ?? newInteractionId();
  return JSON.stringify({
    type: 2,
    id: interactionId,
    application_id: APPLICATION,
    token: `token-${interactionId}`,
    guild_id: guildId,
    member: { user: { id: chatId, username: 'somebody' }, permissions: String(permissions), roles: [] },
    data: {
      id: '1',
      name,
      type: 1,
      options: Object.entries(options).map(([key, value]) => ({ name: key, type: 3, value })),
    },
    version: 1,
  });
}

/** A response to a slash command that was edited. */
export interface EditedResponse {
  token: string;
  content: string;
  mentions: unknown;
}

/**
 * Listens in front of the chat simulator: stores the edits of responses to slash commands, and passes all other requests
 * on. `failNext` lets that many edits fail with 503.
 */
export async function startWebhooks(simulator: string) {
  const edits: EditedResponse[] = [];
  let failures = 0;
  const server = createServer((request, response) => {
    const [, application, token] =
      /^\/api\/v10\/webhooks\/(\d+)\/([^/]+)\/messages\/@original$/.exec(request.url ?? '') ?? [];
    if (application === undefined) return relay(request, response, simulator);
    if (failures > 0) {
      failures--;
      return response.writeHead(503).end('{}');
    }
    let text = '';
    request.on('data', (piece: Buffer) => (text += piece.toString()));
    request.on('end', () => {
      const { content, allowed_mentions: mentions } = JSON.parse(text);
      edits.push({ token: decodeURIComponent(token ?? ''), content, mentions });
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ id: '1', content }));
    });
  });
  const { url, close } = await listening(server);
  return {
    /** `host:port` */
    address: url.slice('http://'.length),
    edits,
    failNext: (times: number) => (failures = times),
    close,
  };
}

function relay(request: IncomingMessage, response: ServerResponse, upstream: string): void {
  const [hostname, port] = upstream.split(':');
  const { method, url, headers } = request;
  const sent = sendRequest({ hostname, port, method, path: url, headers }, (received) => {
    response.writeHead(received.statusCode ?? 502, received.headers);
    received.pipe(response);
  });
  sent.on('error', () => response.destroy());
  request.pipe(sent);
}
