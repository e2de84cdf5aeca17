// A bare Node proxy: forwards all requests over persistent connections and checks nothing.
import { Agent, createServer, request } from 'node:http';
import { listen, upstream } from './arguments.ts';

const target = upstream();
const agent = new Agent({ keepAlive: true, scheduling: 'lifo', maxFreeSockets: 256 });

listen(
  createServer({ keepAliveTimeout: 75_000 }, (incoming, response) => {
    const { method, url: path, headers } = incoming;
    const options = { host: target.hostname, port: target.port, agent, method, path, headers };
    const outgoing = request(options, (incomingResponse) => {
      response.writeHead(incomingResponse.statusCode ?? 502, incomingResponse.headers);
      incomingResponse.pipe(response);
    });
    outgoing.on('error', () => response.destroy());
    incoming.pipe(outgoing);
  }),
);
