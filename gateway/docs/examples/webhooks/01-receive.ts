import { createServer, type IncomingMessage } from 'node:http';
import { verifyWebhook } from '@guild-data/client';

let webhookSecret = '';

/** Sets the secret that verifies events: whsec_..., from the response that creates the webhook. */
export function useSecret(secret: string): void {
  webhookSecret = secret;
}

/** Verifies an event, handles it, and returns the status of the response. */
async function receive(request: IncomingMessage): Promise<number> {
  const body = Buffer.concat(await request.toArray());
  try {
    const event = await verifyWebhook({ headers: request.headers, body }, webhookSecret);
    console.log(event);
    return 204;
  } catch {
    return 400;
  }
}

createServer((request, response) => {
  void receive(request).then((status) => response.writeHead(status).end());
}).listen(Number(process.env['PORT'] ?? 3000));
