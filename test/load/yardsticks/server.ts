// A bare Node server, which is also the upstream of the proxies and the gateway.
import { createServer } from 'node:http';
import { successBody } from '#kit/http/envelope.ts';
import { listen } from './arguments.ts';

const BODY = successBody(200, 'User found', {
  chat_id: '920000000000000001',
  game_id: 7001,
  game_username: 'AdaBuilds',
  verified: true,
});
const HEADERS = {
  'content-type': 'application/json; charset=utf-8',
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'content-length': Buffer.byteLength(BODY),
};

listen(
  createServer({ keepAliveTimeout: 75_000 }, (_request, response) => {
    response.writeHead(200, HEADERS);
    response.end(BODY);
  }),
);
