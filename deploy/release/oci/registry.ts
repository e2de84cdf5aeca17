import { openAsBlob } from 'node:fs';
import { z } from 'zod';
import { type Descriptor, digestOf, type Manifest } from './descriptor.ts';

const PATIENCE_MS = 300_000;
const MANIFESTS = 'application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json';

export type Credentials = { user: string; password: string };

const tokenShape = z.object({ token: z.string().optional(), access_token: z.string().optional() });

type Call = { method?: string; body?: Blob; headers?: Record<string, string> };

/** One repository of a registry, by the OCI distribution protocol. */
export class Repository {
  private readonly base: string;
  private readonly name: string;
  private readonly credentials: Credentials | undefined;
  private readonly isLocal: boolean;
  private authorization: string | undefined;

  /** Registries on this machine are called without TLS, as by other clients. */
  constructor(host: string, name: string, credentials?: Credentials) {
    this.isLocal = /^(localhost|127\.0\.0\.1|\[::1\])(:|$)/.test(host);
    this.base = `${this.isLocal ? 'http' : 'https'}://${host}/v2/`;
    this.name = name;
    this.credentials = credentials;
  }

  async hasBlob(digest: string): Promise<boolean> {
    return (await this.call(`blobs/${digest}`, { method: 'HEAD' }, [200, 404])).ok;
  }

  async pushBlob({ digest }: Descriptor, path: string): Promise<void> {
    if (await this.hasBlob(digest)) return;
    const begun = await this.call('blobs/uploads/', { method: 'POST' }, [202]);
    const upload = new URL(begun.headers.get('location') ?? '', begun.url);
    upload.searchParams.set('digest', digest);
    const headers = { 'content-type': 'application/octet-stream' };
    await this.call(upload.href, { method: 'PUT', body: await openAsBlob(path), headers }, [201]);
  }

  async readBlob(digest: string): Promise<Buffer> {
    const response = await this.call(`blobs/${digest}`, {}, [200]);
    return checked(Buffer.from(await response.arrayBuffer()), digest);
  }

  /** Returns whether the registry lists the manifest under its subject by itself. */
  async pushManifest(reference: string, { mediaType }: Descriptor, content: Buffer): Promise<boolean> {
    const body = new Blob([new Uint8Array(content)]);
    const call = { method: 'PUT', body, headers: { 'content-type': mediaType } };
    return (await this.call(`manifests/${reference}`, call, [201])).headers.has('oci-subject');
  }

  /** The manifest under a tag or digest; undefined if there is none. */
  async readManifest(reference: string): Promise<{ digest: string; manifest: Manifest } | undefined> {
    const response = await this.call(`manifests/${reference}`, { headers: { accept: MANIFESTS } }, [200, 404]);
    const content = Buffer.from(await response.arrayBuffer());
    if (!response.ok) return undefined;
    const digest = digestOf(content);
    if (reference.startsWith('sha256:')) checked(content, reference);
    return { digest, manifest: JSON.parse(content.toString()) as Manifest };
  }

  private async call(path: string, call: Call, expected: readonly number[]): Promise<Response> {
    const address = new URL(path, `${this.base}${this.name}/`);
    let response = await this.send(address, call);
    if (response.status === 401) {
      this.authorization = await this.authorize(response.headers.get('www-authenticate') ?? '');
      response = await this.send(address, call);
    }
    if (expected.includes(response.status)) return response;
    const text = (await response.text()).slice(0, 500);
    throw new Error(`the registry answered ${response.status} to ${call.method ?? 'GET'} ${address.pathname}: ${text}`);
  }

  /** The credentials only go to the registry itself, and not to a store to which it redirects. */
  private send(address: URL, call: Call): Promise<Response> {
    const isRegistry = address.origin === new URL(this.base).origin;
    const authorization = isRegistry && this.authorization ? { authorization: this.authorization } : {};
    return fetch(address, {
      ...call,
      headers: { ...call.headers, ...authorization },
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
  }

  /** Does what the challenge demands: sends the credentials with each call, or exchanges them for a token. */
  private async authorize(challenge: string): Promise<string> {
    const basic = this.credentials && `Basic ${btoa(`${this.credentials.user}:${this.credentials.password}`)}`;
    if (/^basic\b/i.test(challenge)) {
      if (!basic) throw new Error('the registry requires RELEASE_USER and RELEASE_PASSWORD');
      return basic;
    }
    const parameters = new Map(
      [...challenge.matchAll(/(\w+)="([^"]*)"/g)].map(([, key = '', value = '']) => [key, value]),
    );
    const realm = parameters.get('realm');
    if (!/^bearer\b/i.test(challenge) || !realm)
      throw new Error('the registry requires an unknown kind of authorization');
    const address = tokenServer(realm, this.isLocal);
    address.searchParams.set('service', parameters.get('service') ?? '');
    address.searchParams.set('scope', `repository:${this.name}:pull,push`);
    const response = await fetch(address, {
      headers: basic ? { authorization: basic } : {},
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    if (!response.ok) throw new Error(`the registry's token server answered ${response.status}`);
    const { token, access_token: other } = tokenShape.parse(await response.json());
    const issued = token || other;
    if (!issued) throw new Error("the registry's token server returned no token");
    return `Bearer ${issued}`;
  }
}

/** The credentials are not sent over a connection that others can read; a registry on this machine may use one. */
export function tokenServer(realm: string, isLocal: boolean): URL {
  const address = new URL(realm);
  if (address.protocol !== 'https:' && !isLocal) {
    throw new Error(`the registry's token server ${address.origin} must use https`);
  }
  return address;
}

function checked(content: Buffer, digest: string): Buffer {
  if (digestOf(content) !== digest) throw new Error(`the registry returned other bytes than those of ${digest}`);
  return content;
}
