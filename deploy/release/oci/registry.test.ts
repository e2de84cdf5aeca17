import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { canStartRegistry, type Registry, startRegistry } from '../fixture.ts';
import { descriptorOf, MEDIA } from './descriptor.ts';
import { Layout } from './layout.ts';
import { push } from './push.ts';
import { Repository, tokenServer } from './registry.ts';

const hasRegistry = canStartRegistry();
beforeEach(({ skip }) => skip(!hasRegistry, 'there is no docker-registry'));

/** The password `secret`, as `htpasswd -B` writes it. */
const PASSWORDS = 'releaser:$2b$04$FxlaOSWKN0gnF1imhrGeuuM9SS1mzewB7caCWtZICoxXT20GdCsRG\n';
const CREDENTIALS = { user: 'releaser', password: 'secret' };
const CONTENT = Buffer.from('content');
const BLOB = descriptorOf('application/octet-stream', CONTENT);

let folder: string;
let open: Registry;
beforeAll(async () => {
  if (!hasRegistry) return;
  folder = mkdtempSync(join(tmpdir(), 'registry-'));
  open = await startRegistry(folder);
  writeFileSync(join(folder, 'content'), CONTENT);
});
afterAll(async () => {
  await open?.stop();
  if (folder) rmSync(folder, { recursive: true });
});

type Front = { host: string; scopes: string[]; isListing: boolean; answer: string; close(): void };

/** A registry that demands a token of its token server, as public registries do, and relays to the real one. */
async function startFront(): Promise<Front> {
  const front: Front = {
    host: '',
    scopes: [],
    isListing: false,
    answer: '{"token":"t0ken"}',
    close: () => server.close(),
  };
  const server: Server = createServer((incoming, response) => {
    const { authorization } = incoming.headers;
    const address = new URL(incoming.url ?? '/', `http://${front.host}`);
    if (address.pathname === '/token') {
      if (authorization !== `Basic ${btoa('releaser:secret')}`) return response.writeHead(403).end();
      front.scopes.push(address.searchParams.get('scope') ?? '');
      return response.end(front.answer);
    }
    if (authorization === 'Bearer t0ken') return relay(incoming, response, front);
    const challenge = `Bearer realm="http://${front.host}/token",service="registry.example"`;
    return response.writeHead(401, { 'www-authenticate': challenge }).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  front.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return front;
}

function relay(incoming: IncomingMessage, response: ServerResponse, { isListing }: Front): void {
  const { method, url, headers } = incoming;
  const { authorization: _, ...others } = headers;
  const upstream = request(`http://${open.host}${url}`, { method: method ?? 'GET', headers: others }, (answer) => {
    const listed = isListing && method === 'PUT' && url?.includes('/manifests/') ? { 'oci-subject': 'sha256:0' } : {};
    response.writeHead(answer.statusCode ?? 500, { ...answer.headers, ...listed });
    answer.pipe(response);
  });
  incoming.pipe(upstream);
}

async function pushAndRead(repository: Repository): Promise<Buffer> {
  await repository.pushBlob(BLOB, join(folder, 'content'));
  return repository.readBlob(BLOB.digest);
}

test('a registry with passwords gets the credentials, and wrong or missing ones are reported', async () => {
  writeFileSync(join(folder, 'htpasswd'), PASSWORDS);
  const closed = await startRegistry(folder, ['auth:', `  htpasswd: {realm: r, path: ${join(folder, 'htpasswd')}}`]);
  try {
    expect(await pushAndRead(new Repository(closed.host, 'a/b', CREDENTIALS))).toEqual(CONTENT);
    const wrong = new Repository(closed.host, 'a/c', { ...CREDENTIALS, password: 'other' });
    await expect(pushAndRead(wrong)).rejects.toThrow('the registry answered 401 to HEAD');
    const missing = new Repository(closed.host, 'a/c');
    await expect(pushAndRead(missing)).rejects.toThrow('the registry requires RELEASE_USER and RELEASE_PASSWORD');
  } finally {
    await closed.stop();
  }
});

test('a registry with a token server gets a token for the repository', async () => {
  const front = await startFront();
  try {
    expect(await pushAndRead(new Repository(front.host, 'a/b', CREDENTIALS))).toEqual(CONTENT);
    expect(front.scopes).toEqual(['repository:a/b:pull,push']);
    const wrong = new Repository(front.host, 'a/c', { ...CREDENTIALS, password: 'other' });
    await expect(pushAndRead(wrong)).rejects.toThrow("the registry's token server answered 403");
  } finally {
    front.close();
  }
});

test('a token server that returns no token is reported', async () => {
  const front = await startFront();
  front.answer = '{"token":""}';
  try {
    const repository = new Repository(front.host, 'a/b', CREDENTIALS);
    await expect(pushAndRead(repository)).rejects.toThrow("the registry's token server returned no token");
  } finally {
    front.close();
  }
});

test('only a registry on this machine may have a token server without TLS', () => {
  expect(tokenServer('https://auth.example/token', false).href).toBe('https://auth.example/token');
  expect(tokenServer('http://127.0.0.1:1/token', true).href).toBe('http://127.0.0.1:1/token');
  expect(() => tokenServer('http://auth.example/token', false)).toThrow('http://auth.example must use https');
});

/** A layout with an image and a document that belongs to it. */
function sampleLayout(name: string): { layout: Layout; image: string } {
  const layout = new Layout(join(folder, name));
  const manifest = {
    schemaVersion: 2,
    mediaType: MEDIA.manifest,
    config: layout.addJson(MEDIA.config, { name }),
  } as const;
  const image = layout.addManifest({ ...manifest, layers: [layout.add(MEDIA.layer, CONTENT)] }, '1');
  const config = layout.addJson(MEDIA.empty, {});
  const layers = [layout.add('text/plain', Buffer.from(name))];
  layout.addManifest({ ...manifest, artifactType: 'text/plain', config, layers, subject: image });
  return { layout, image: image.digest.replace(':', '-') };
}

test('what belongs to an image is listed under a tag, unless the registry lists it by itself', async () => {
  const front = await startFront();
  try {
    const repository = new Repository(front.host, 'a/d', CREDENTIALS);
    const before = sampleLayout('without');
    await push(before.layout, repository, '1');
    await push(before.layout, repository, '1');
    const listed = await repository.readManifest(before.image);
    expect(listed?.manifest.manifests?.map(({ artifactType }) => artifactType)).toEqual(['text/plain']);
    front.isListing = true;
    const other = sampleLayout('with');
    const another = new Repository(front.host, 'a/e', CREDENTIALS);
    await push(other.layout, another, '1');
    expect(await another.readManifest('1')).toBeDefined();
    expect(await another.readManifest(other.image)).toBeUndefined();
  } finally {
    front.close();
  }
});

test('an image is published under its tag only after all that belongs to it', async () => {
  const { layout } = sampleLayout('incomplete');
  const document = layout.manifests[1];
  const [blob] = layout.readManifest(document ?? BLOB).layers ?? [];
  writeFileSync(layout.pathOf(blob ?? BLOB), 'damaged');
  const repository = new Repository(open.host, 'a/f');
  await expect(push(layout, repository, '1')).rejects.toThrow('the registry answered 400 to PUT');
  expect(await repository.readManifest('1')).toBeUndefined();
});
