import { once } from 'node:events';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { waitForWindowTime } from '../measure/windows.ts';
import { openSocket, sendRaw, wire } from '../network/raw-http.ts';
import { GUILD, type Network, startNetwork } from '../system/system.ts';

let network: Network;
let key: string;

beforeAll(async () => {
  network = await startNetwork();
  key = (await network.createKey()).secret;
});
afterAll(() => network.stop());

/** Sends raw bytes and returns the responses, in order. */
async function responsesTo(raw: string): Promise<{ status: number; head: string; code: string | undefined }[]> {
  const text = await sendRaw(network.address('gateway', 'http'), raw);
  return text
    .split(/(?=HTTP\/1\.1 \d{3} )/)
    .filter(Boolean)
    .map((response) => {
      const [head = '', body = ''] = response.split('\r\n\r\n');
      const json = body === '' ? {} : JSON.parse(body);
      return { status: Number(head.slice(9, 12)), head: head.toLowerCase(), code: json.details?.code };
    });
}

describe('requests that Node does not pass to the request listener get an error envelope', () => {
  it.each([
    ['bytes that are not HTTP', '\u0016\u0003\n\n', 400, 'INVALID_REQUEST'],
    [
      'Content-Length and chunked encoding',
      'POST /api/v1/reverse HTTP/1.1\nHost: x\nContent-Length: 2\nTransfer-Encoding: chunked\n\n',
      400,
      'INVALID_REQUEST',
    ],
    ['no Host', 'GET /api/v1/whoami HTTP/1.1\nConnection: close\n\n', 400, 'INVALID_REQUEST'],
    ['headers over 16 KiB', `GET / HTTP/1.1\nHost: x\nX-Large: ${'x'.repeat(20_000)}\n\n`, 431, 'HEADERS_TOO_LARGE'],
    ['an expectation', 'GET / HTTP/1.1\nHost: x\nExpect: tea\nConnection: close\n\n', 417, 'EXPECTATION_FAILED'],
    ['CONNECT', 'CONNECT x:80 HTTP/1.1\nHost: x:80\n\n', 405, 'METHOD_NOT_ALLOWED'],
    ['an unknown method', 'BREW /api/v1/whoami HTTP/1.1\nHost: x\n\n', 405, 'METHOD_NOT_ALLOWED'],
  ])('%s', async (_description, raw, status, code) => {
    const [response, ...more] = await responsesTo(raw);
    expect(more).toEqual([]);
    expect(response).toMatchObject({ status, code });
    for (const header of ['x-request-id: ', 'cache-control: no-store', 'x-content-type-options: nosniff']) {
      expect(response?.head).toContain(header);
    }
    expect(response?.head.includes('\r\nallow: get, head')).toBe(status === 405);
  });

  it.each([
    ['/api/v1/whoami', 'get, head'],
    ['/api/v1/lookup/status', 'post'],
    ['/api/v1/bindings/remove/7', 'delete'],
    ['/healthz', 'get, head'],
    ['/docs', 'get, head'],
  ])('Allow lists exactly the methods of %s, even if Node does not know the requested method', async (path, allow) => {
    for (const method of ['BREW', 'OPTIONS', 'PUT', 'PROPFIND']) {
      const [response] = await responsesTo(`${method} ${path} HTTP/1.1\nHost: x\nConnection: close\n\n`);
      expect(response).toMatchObject({ status: 405, code: 'METHOD_NOT_ALLOWED' });
      expect(response?.head.split('\r\n')).toContain(`allow: ${allow}`);
    }
  });

  it('an Upgrade is ignored: the request is served normally, and then the connection is closed', async () => {
    const responses = await responsesTo(
      `GET /api/v1/lookup/game/7 HTTP/1.1\nHost: x\nX-API-Key: ${key}\nX-Guild-ID: ${GUILD}\nX-Request-Id: first\n\n` +
        `GET /api/v1/whoami HTTP/1.1\nHost: x\nX-API-Key: ${key}\nConnection: Upgrade\nUpgrade: websocket\nX-Request-Id: second\n\n`,
    );
    expect(responses.map(({ status }) => status)).toEqual([404, 200]);
    expect(responses.map(({ head }) => /x-request-id: (\w+)/.exec(head)?.[1])).toEqual(['first', 'second']);
    expect(responses[1]?.head.split('\r\n')).toContain('connection: close');
  });

  it('malformed bytes after a request close the connection after its response', async () => {
    const good = `GET /api/v1/whoami HTTP/1.1\nHost: x\nX-API-Key: ${key}\n\n`;
    const responses = await responsesTo(`${good}GARBAGE\n\n`);
    expect(responses.map(({ status }) => status)).toEqual([200]);
  });

  it('malformed bytes after the second request in flight close the connection after its response', async () => {
    const faults = `${network.simulators.game}/__faults`;
    await fetch(faults, { method: 'POST', body: JSON.stringify({ match: '/v1/users/', delay_ms: 500, times: 1 }) });
    const body = JSON.stringify({ guild_id: GUILD, chat_id: '920000000000000001', game_id: 7001 });
    const socket = await openSocket(network.address('gateway', 'http'));
    let text = '';
    socket.on('data', (bytes: Buffer) => (text += bytes.toString()));
    socket.write(
      wire(
        `GET /api/v1/whoami HTTP/1.1\nHost: x\nX-API-Key: ${key}\n\n` +
          `POST /api/v1/verification/link HTTP/1.1\nHost: x\nX-API-Key: ${key}\nContent-Type: application/json\nContent-Length: ${body.length}\n\n`,
      ) + body,
    );
    await expect.poll(() => text).toContain('API key is valid');
    socket.write(wire('GARBAGE\n\n'));
    await once(socket, 'close');
    expect([...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => status)).toEqual(['200', '201']);
  });

  it('a malformed body gets 400', async () => {
    const responses = await responsesTo(
      `POST /api/v1/reverse HTTP/1.1\nHost: x\nX-API-Key: ${key}\nContent-Type: application/json\nTransfer-Encoding: chunked\n\nzz\n`,
    );
    expect(responses).toMatchObject([{ status: 400, code: 'INVALID_REQUEST' }]);
  });

  it.each([
    ['/api/v1/reverse', 401, 'MISSING_API_KEY'],
    ['/api/v1/nowhere', 404, 'ROUTE_NOT_FOUND'],
  ])('a malformed body of %s gets %i if the head is rejected', async (path, status, code) => {
    const raw = `POST ${path} HTTP/1.1\nHost: x\nTransfer-Encoding: chunked\n\nzz\n`;
    expect(await responsesTo(raw)).toMatchObject([{ status, code }]);
  });
});

describe('chunked bodies', () => {
  const post = (headers: string, body: string) =>
    `POST /api/v1/lookup/status HTTP/1.1\nHost: x\nX-API-Key: ${key}\nContent-Type: application/json\nConnection: close\n${headers}\n\n${body}`;
  const chunk = (text: string) => `${text.length.toString(16)}\n${text}\n`;

  it('are forwarded completely', async () => {
    const json = JSON.stringify({ guild_id: GUILD, game_ids: [7] });
    const body = `${chunk(json.slice(0, 9))}${chunk(json.slice(9))}0\n\n`;
    expect(await responsesTo(post('Transfer-Encoding: chunked', body))).toMatchObject([{ status: 200 }]);
  });

  it('are rejected above 64 KiB, and the next request on the connection gets its response', async () => {
    const large = post('Transfer-Encoding: chunked', `${chunk('x'.repeat(40_000)).repeat(2)}0\n\n`).replace(
      'Connection: close\n',
      '',
    );
    const next = `GET /api/v1/whoami HTTP/1.1\nHost: x\nX-API-Key: ${key}\nConnection: close\n\n`;
    expect((await responsesTo(large + next)).map(({ status }) => status)).toEqual([413, 200]);
  });
});

describe('a client that sends slowly', () => {
  it('does not use up the timeout of the service', async () => {
    await network.startOne('gateway', { SERVICE_TIMEOUT_MS: '1000' });
    const body = JSON.stringify({ guild_id: GUILD, game_ids: [7] });
    const socket = await openSocket(network.address('gateway', 'http'));
    const response = once(socket, 'data') as Promise<[Buffer]>;
    socket.write(
      wire(
        `POST /api/v1/lookup/status HTTP/1.1\nHost: x\nX-API-Key: ${key}\nContent-Type: application/json\nContent-Length: ${body.length}\n\n`,
      ),
    );
    const size = Math.ceil(body.length / 8);
    for (let sent = 0; sent < body.length; sent += size) {
      await wait(200);
      socket.write(body.slice(sent, sent + size));
    }
    expect(String((await response)[0])).toMatch(/^HTTP\/1\.1 200 /);
    socket.destroy();
  });
});

describe('clients that never finish a body', () => {
  it('a rejected client is disconnected, whether it sends fast or slowly', async () => {
    const head = wire('POST /api/v1/reverse HTTP/1.1\nHost: x\nTransfer-Encoding: chunked\n\n');
    const chunk = `10000\r\n${'x'.repeat(0x10000)}\r\n`;
    for (const more of [chunk, '1\r\nx\r\n']) {
      const socket = await openSocket(network.address('gateway', 'http'));
      // Writes fail once the gateway has closed the connection, as expected.
      socket.on('error', () => socket.destroy());
      const started = performance.now();
      socket.write(head);
      const feeding = setInterval(() => socket.writable && socket.write(more), 20);
      await new Promise((resolve) => socket.once('close', resolve));
      clearInterval(feeding);
      expect(performance.now() - started).toBeLessThan(10_000);
    }
  });

  it('a client that stops within a body gets 408, which does not count as a failure of the service', async () => {
    const slow = await startNetwork({ environment: { SERVICE_TIMEOUT_MS: '300' } });
    try {
      const { secret } = await slow.createKey();
      const raw = `POST /api/v1/lookup/status HTTP/1.1\nHost: x\nX-API-Key: ${secret}\nContent-Type: application/json\nConnection: close\nContent-Length: 100\n\n{}`;
      const responses = await Promise.all(
        Array.from({ length: 12 }, () => sendRaw(slow.address('gateway', 'http'), raw)),
      );
      expect(responses.map((response) => response.slice(9, 12))).toEqual(Array(12).fill('408'));
      const body = { guild_id: GUILD, game_ids: [] };
      expect((await slow.call('/lookup/status', { method: 'POST', key: secret, body })).status).toBe(200);
    } finally {
      await slow.stop();
    }
  });
});

describe('headers that a client could forge', () => {
  it.each(['x-guild-principal', 'X-Guild-Principal', 'x-internal-key'])('%s has no effect', async (name) => {
    const { status, json } = await network.call(`/lookup/game/7`, {
      headers: { [name]: 'e30.AAAA', 'x-guild-id': GUILD },
    });
    expect([status, json.details.code]).toEqual([401, 'MISSING_API_KEY']);
  });

  it('a service rejects requests without a signed principal', async () => {
    const direct = `http://${network.address('lookup', 'http')}/api/v1/lookup/game/7`;
    for (const headers of [{}, { 'x-api-key': key }, { 'x-guild-principal': 'e30.AAAA' }]) {
      const response = await fetch(direct, { headers });
      expect([response.status, ((await response.json()) as { details: { code: string } }).details.code]).toEqual([
        401,
        'MISSING_API_KEY',
      ]);
    }
  });

  it('X-Forwarded-For is used only from trusted proxies', async () => {
    const own = await network.createKey({ ipAllowlist: ['198.51.100.7'] });
    const headers = { 'x-forwarded-for': '198.51.100.7' };
    expect((await network.call('/whoami', { key: own.secret, headers })).json.details.client_ip).toBe('127.0.0.1');
    await network.startOne('gateway', { TRUSTED_PROXIES: '127.0.0.0/8' });
    expect((await network.call('/whoami', { key: own.secret, headers })).status).toBe(200);
    const longer = { 'x-forwarded-for': '198.51.100.7, 203.0.113.9' };
    const response = await network.call('/whoami', { key: own.secret, headers: longer });
    expect(response.json.details.client_ip).toBe('203.0.113.9');
  });

  it('a client behind a trusted proxy cannot hide its address with the Connection header', async () => {
    await network.startOne('gateway', { TRUSTED_PROXIES: '127.0.0.0/8' });
    const named = 'Connection: close, X-Forwarded-For\nX-Forwarded-For: 203.0.113.9\n';
    const ask = (secret: string) =>
      responsesTo(`GET /api/v1/whoami HTTP/1.1\nHost: x\n${named}X-API-Key: ${secret}\n\n`);
    const own = await network.createKey({ ipAllowlist: ['127.0.0.0/8'] });
    expect((await ask(own.secret))[0]).toMatchObject({ status: 403, code: 'IP_NOT_ALLOWED' });
    const left = async (address: string) => {
      const headers = { 'x-forwarded-for': address };
      return Number((await network.call('/whoami', { key: 'wrong', headers })).headers.get('x-ratelimit-remaining'));
    };
    await waitForWindowTime(10_000);
    const before = await left('127.0.0.1');
    await ask('wrong');
    expect(await left('127.0.0.1')).toBe(before - 1);
  });
});
