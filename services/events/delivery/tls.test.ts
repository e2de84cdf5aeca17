import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { createServer as createTcpServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TLSSocket, TlsOptions } from 'node:tls';
import { afterAll, expect, test } from 'vitest';
import { Authority, type CertificateOptions } from '#test/network/certificates.ts';
import { createSender, post, serve } from './fixture.ts';

const HOUR_MS = 3_600_000;
const folder = mkdtempSync(join(tmpdir(), 'webhook-tls-'));
afterAll(() => rmSync(folder, { recursive: true }));

const ours = new Authority('ours');
const caFile = join(folder, 'ca.pem');
writeFileSync(caFile, ours.cert);
const TRUSTING = { WEBHOOKS_ALLOWED_NETWORKS: '127.0.0.0/8', WEBHOOKS_CA_FILE: caFile };

/** Starts a server that presents a certificate; `names` collects the names that clients sent in TLS. */
async function serveTls(certificate: CertificateOptions, authority = ours, options: TlsOptions = {}) {
  const names: unknown[] = [];
  let requests = 0;
  const server = createServer({ ...authority.issue(certificate), ...options }, (request, response) => {
    requests += 1;
    names.push((request.socket as TLSSocket).servername);
    request.resume().on('end', () => response.end('ok'));
  });
  return { port: await serve(server), names, requests: () => requests };
}

test('a certificate of the CA file for the name of the URL is accepted, and the name is sent', async () => {
  const { port, names } = await serveTls({ names: ['hooks.example'] });
  const result = await post(createSender(TRUSTING), `https://HOOKS.example:${port}/`);
  expect(result).toMatchObject({ status: 200, error: null, answer: 'ok' });
  expect(names).toEqual(['hooks.example']);
});

test('a certificate for the IP address of the URL is accepted', async () => {
  const { port, names } = await serveTls({ names: ['hooks.example', '127.0.0.1'] });
  expect(await post(createSender(TRUSTING), `https://127.0.0.1:${port}/`)).toMatchObject({ status: 200 });
  expect(names).toEqual([false]);
});

test.each([
  ['for another name', { names: ['other.example'] }, 'TLS: the certificate is for another name'],
  ['for the address to which the name resolves', { names: ['127.0.0.1'] }, 'TLS: the certificate is for another name'],
  ['that has expired', { names: ['hooks.example'], until: Date.now() - HOUR_MS }, 'TLS: the certificate has expired'],
  ['for later', { names: ['hooks.example'], from: Date.now() + HOUR_MS }, 'TLS: the certificate is not valid yet'],
])('a certificate %s is rejected before anything is sent', async (_, certificate, error) => {
  const { port, requests } = await serveTls(certificate);
  const result = await post(createSender(TRUSTING), `https://hooks.example:${port}/`);
  expect(result).toMatchObject({ status: null, error, isOurFault: false });
  expect(requests()).toBe(0);
});

test('a certificate of an unknown CA is rejected, also if the CA file has another CA', async () => {
  const { port, requests } = await serveTls({ names: ['hooks.example'] }, new Authority('theirs'));
  for (const environment of [TRUSTING, { ...TRUSTING, WEBHOOKS_CA_FILE: undefined }]) {
    const { error } = await post(createSender(environment), `https://hooks.example:${port}/`);
    expect(error).toMatch(/^TLS: the certificate (?:is not trusted|chain is incomplete)$/);
  }
  expect(requests()).toBe(0);
});

test('TLS 1.1 is rejected', async () => {
  const { port } = await serveTls({ names: ['hooks.example'] }, ours, { minVersion: 'TLSv1', maxVersion: 'TLSv1.1' });
  const result = await post(createSender(TRUSTING), `https://hooks.example:${port}/`);
  expect(result).toMatchObject({ error: 'TLS: the handshake failed' });
});

test('a server that speaks no TLS, that closes, and that never continues the handshake are errors', async () => {
  const answers = ['HTTP/1.1 400 Bad Request\r\n\r\n', '', undefined];
  const errors: unknown[] = [];
  for (const answer of answers) {
    const port = await serve(createTcpServer((socket) => void (answer !== undefined && socket.end(answer))));
    errors.push((await post(createSender(TRUSTING), `https://hooks.example:${port}/`, { timeoutMs: 500 })).error);
  }
  expect(errors).toEqual(['TLS: the handshake failed', 'connection closed', 'timeout']);
});

test('a CA file that cannot be read or has no certificate is a configuration error', () => {
  const missing = { ...TRUSTING, WEBHOOKS_CA_FILE: join(folder, 'missing.pem') };
  expect(() => createSender(missing)).toThrow(/WEBHOOKS_CA_FILE cannot be used: ENOENT/);
  const empty = join(folder, 'empty.pem');
  writeFileSync(empty, 'no certificate');
  expect(() => createSender({ ...TRUSTING, WEBHOOKS_CA_FILE: empty })).toThrow(/WEBHOOKS_CA_FILE cannot be used/);
});
