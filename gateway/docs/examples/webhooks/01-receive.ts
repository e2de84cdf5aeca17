import { createServer, type IncomingMessage } from 'node:http';
import { Webhook } from 'standardwebhooks';

let webhook: Webhook | undefined;

/** Sets the secret that verifies events: whsec_..., from the response that creates the webhook. */
export function useSecret(secret: string): void {
  webhook = new Webhook(secret);
}

/** Verifies an event, handles it, and returns the status of the response. */
async function receive(request: IncomingMessage): Promise<number> {
  const body = Buffer.concat(await request.toArray()).toString();
  try {
    const event = webhook?.verify(body, request.headers as Record<string, string>);
    console.log(event);
    return 204;
  } catch {
    return 401;
  }
}

createServer((request, response) => {
  void receive(request).then((status) => response.writeHead(status).end());
}).listen(Number(process.env['PORT'] ?? 3000));
