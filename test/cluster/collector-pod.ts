// Runs in a pod: a collector that keeps the bodies of all requests with traces. `/bodies` returns them in base64.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';

const MAX_BODIES = 2_000;
const bodies: string[] = [];

async function receive(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await buffer(incoming);
  if (bodies.push(body.toString('base64')) > MAX_BODIES) bodies.shift();
  response.setHeader('content-type', 'application/x-protobuf').end();
}

createServer((incoming, response) => {
  if (incoming.url === '/v1/traces') void receive(incoming, response);
  else response.end(incoming.url === '/bodies' ? JSON.stringify(bodies) : '');
}).listen(4318);
process.once('SIGTERM', () => process.exit(0));
