import { expect, onTestFinished, test } from 'vitest';
import { createSender, LOOPBACK, post, response, serveRaw } from './fixture.ts';
import { type Answer, startDnsServer } from './fixtures/dns-server.ts';
import { dnsResolve } from './resolve.ts';

const STRICT = { WEBHOOKS_ALLOW_HTTP: 'true' };
/** Only this address is allowed, so that 127.0.0.2 stands for a private address that has a server. */
const ONE = { ...STRICT, WEBHOOKS_ALLOWED_NETWORKS: '127.0.0.1' };

const serveOk = () => serveRaw((socket) => socket.write(response('ok')));

async function dns(answer: Answer) {
  const server = await startDnsServer(answer);
  onTestFinished(() => server.close());
  return { ...server, resolve: dnsResolve([server.address]) };
}

test.each([
  '127.0.0.1',
  '10.0.0.1',
  '169.254.169.254',
  '::1',
  '::ffff:127.0.0.1',
  '64:ff9b::7f00:1',
  'fe80::1%lo',
  'fd00::1',
  'not an address',
])('a name that resolves to %s gets no connection', async (address) => {
  const server = await serveOk();
  for (const addresses of [[address], ['8.8.8.8', address], [address, '8.8.8.8']]) {
    const sender = createSender(STRICT, { resolve: async () => addresses });
    const result = await post(sender, `http://hooks.example:${server.port}/`);
    expect(result).toMatchObject({ status: null, error: 'address not allowed', isOurFault: false });
  }
  expect(server.connections).toBe(0);
});

test.each(['localhost', 'LOCALHOST', 'a.localhost'])('%s is loopback, without a query to DNS', async (name) => {
  const { resolve, queried } = await dns(() => ['8.8.8.8']);
  const server = await serveOk();
  const url = `http://${name}:${server.port}/`;
  expect(await post(createSender(STRICT, { resolve }), url)).toMatchObject({ error: 'address not allowed' });
  const allowing = { ...STRICT, WEBHOOKS_ALLOWED_NETWORKS: '127.0.0.1,::1' };
  expect(await post(createSender(allowing, { resolve }), url)).toMatchObject({ status: 200 });
  expect(queried).toEqual([]);
});

test('a URL with the address of a private network gets no connection, in any spelling', async () => {
  const server = await serveOk();
  const sender = createSender(STRICT);
  for (const host of ['127.0.0.1', '127.1', '0x7f000001', '2130706433', '0177.0.0.1', '[::1]', '[::ffff:7f00:1]']) {
    const result = await post(sender, `http://${host}:${server.port}/`);
    expect(result).toMatchObject({ status: null, error: 'address not allowed' });
  }
  expect(server.connections).toBe(0);
});

test('an IP address in a URL is not resolved', async () => {
  const server = await serveOk();
  const sender = createSender(ONE, { resolve: () => Promise.reject(new Error('resolved')) });
  expect(await post(sender, `http://127.0.0.1:${server.port}/`)).toMatchObject({ status: 200 });
  expect(await post(sender, `http://127.0.0.2:${server.port}/`)).toMatchObject({ error: 'address not allowed' });
});

test('a URL against the rules gets no connection, although it was accepted before', async () => {
  const server = await serveOk();
  const https = createSender({ WEBHOOKS_ALLOWED_NETWORKS: '127.0.0.1' });
  const urls = [`http://hooks.example:${server.port}/`, `https://user@hooks.example:${server.port}/`, 'nonsense'];
  for (const url of urls) expect(await post(https, url)).toMatchObject({ error: 'address not allowed' });
  expect(server.connections).toBe(0);
});

test('a name that changes after the check does not change where the connection goes', async () => {
  const allowed = await serveOk();
  let count = 0;
  const { resolve, queried } = await dns((_name, family) =>
    family === 6 ? [] : [count++ === 0 ? '127.0.0.1' : '127.0.0.2'],
  );
  const sender = createSender(ONE, { resolve });
  expect(await post(sender, `http://rebind.example:${allowed.port}/`)).toMatchObject({ status: 200 });
  // One query for each kind of address: nothing resolves the name again between the check and the connection.
  expect(queried).toEqual(['rebind.example', 'rebind.example']);
});

test('each new connection checks the name again', async () => {
  const server = await serveRaw((socket) => socket.end(response('ok', 'HTTP/1.1 200 OK\r\nconnection: close')));
  let address = '127.0.0.1';
  const { resolve } = await dns((_name, family) => (family === 6 ? [] : [address]));
  const sender = createSender(ONE, { resolve });
  const url = `http://rebind.example:${server.port}/`;
  expect(await post(sender, url)).toMatchObject({ status: 200 });
  address = '127.0.0.2';
  expect(await post(sender, url)).toMatchObject({ error: 'address not allowed' });
  address = '127.0.0.1';
  expect(await post(sender, url)).toMatchObject({ status: 200 });
  expect(server.connections).toBe(2);
});

test('a name whose A is allowed and whose AAAA is not gets no connection', async () => {
  const server = await serveOk();
  const { resolve } = await dns((_name, family) => (family === 6 ? ['fd00::1'] : ['127.0.0.1']));
  const result = await post(createSender(ONE, { resolve }), `http://two.example:${server.port}/`);
  expect(result).toMatchObject({ error: 'address not allowed' });
  expect(server.connections).toBe(0);
});

test('if an address refuses the connection, the next one is tried', async () => {
  const server = await serveOk();
  const sender = createSender(LOOPBACK, { resolve: async () => ['127.0.0.3', '127.0.0.4', '127.0.0.1'] });
  expect(await post(sender, `http://hooks.example:${server.port}/`)).toMatchObject({ status: 200 });
});

test('of many addresses only the first four are tried', async () => {
  const server = await serveOk();
  const resolve = async () => ['127.0.0.3', '127.0.0.4', '127.0.0.5', '127.0.0.6', '127.0.0.1'];
  const result = await post(createSender(LOOPBACK, { resolve }), `http://hooks.example:${server.port}/`);
  expect(result).toMatchObject({ error: 'connection refused' });
});

test('a name server that fails for AAAA does not prevent deliveries', async () => {
  const server = await serveOk();
  const { resolve } = await dns((_name, family) => (family === 6 ? 2 : ['127.0.0.1']));
  expect(await post(createSender(ONE, { resolve }), `http://half.example:${server.port}/`)).toMatchObject({
    status: 200,
  });
});

test('a name without addresses, and a name server that fails, are errors of the endpoint', async () => {
  const { resolve } = await dns((name) => (name === 'missing.example' ? 3 : name === 'empty.example' ? [] : 2));
  const sender = createSender(ONE, { resolve });
  const errorOf = async (name: string) => post(sender, `http://${name}:8080/`);
  expect(await errorOf('missing.example')).toMatchObject({ error: 'name not found', isOurFault: false });
  expect(await errorOf('empty.example')).toMatchObject({ error: 'name not found', isOurFault: false });
  expect(await errorOf('failing.example')).toMatchObject({ error: 'name could not be resolved', isOurFault: false });
});

test('if none of our DNS servers can be reached, the endpoint is not to blame', async () => {
  const { close, address } = await startDnsServer(() => []);
  close();
  const result = await post(createSender(ONE, { resolve: dnsResolve([address]) }), 'http://hooks.example:8080/');
  expect(result).toMatchObject({ error: 'name could not be resolved', isOurFault: true });
});

test('a name server that does not respond is cut at the timeout, and delays no other name', async () => {
  const server = await serveOk();
  const { resolve } = await dns((name, family) =>
    name === 'slow.example' ? undefined : family === 6 ? [] : ['127.0.0.1'],
  );
  const sender = createSender(ONE, { resolve });
  const slow = Array.from({ length: 30 }, () =>
    post(sender, `http://slow.example:${server.port}/`, { timeoutMs: 2_000 }),
  );
  const fast = await post(sender, `http://fast.example:${server.port}/`, { timeoutMs: 2_000 });
  expect(fast).toMatchObject({ status: 200 });
  for (const result of await Promise.all(slow)) expect(result).toMatchObject({ status: null, error: 'timeout' });
});

test('the errors of connections do not contain addresses or names of our network', async () => {
  const sender = createSender();
  expect(await post(sender, 'http://hooks.example:1024/')).toMatchObject({ error: 'connection refused' });
  const broken = createSender(LOOPBACK, { resolve: () => Promise.reject(new Error('10.0.0.53 failed')) });
  expect(await post(broken, 'http://hooks.example:1024/')).toMatchObject({ error: 'connection failed' });
});
