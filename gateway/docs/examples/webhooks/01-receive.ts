import { createServer } from 'node:http';
import { Webhook } from 'standardwebhooks';

let webhook: Webhook | undefined;

/** Sets the secret that verifies events: whsec_..., from the response that creates the webhook. */
export function useSecret(secret: string): void {
  webhook = new Webhook(secret);
}

createServer(async (request, response) => {
  const body = Buffer.concat(await request.toArray()).toString();
  try {
    const event = webhook?.verify(body, request.headers as Record<string, string>);
    console.log(event);
    response.writeHead(204).end();
  } catch {
    response.writeHead(401).end();
  }
}).listen(Number(process.env['PORT'] ?? 3000));
