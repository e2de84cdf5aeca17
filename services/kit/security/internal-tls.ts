import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { type AgentOptions, Agent as HttpsAgent } from 'node:https';
import { isIP } from 'node:net';
import {
  type ConnectionOptions,
  checkServerIdentity,
  connect,
  createSecureContext,
  type PeerCertificate,
  type TLSSocket,
  type TlsOptions,
  type Server as TlsServer,
} from 'node:tls';
import { type ChannelCredentials, type ChannelOptions, experimental, type ServerCredentials } from '@grpc/grpc-js';
import { ConfigError } from '../service/config.ts';
import type { Part } from '../service/lifecycle.ts';
import type { Logger } from '../telemetry/log.ts';
import type { Metrics } from '../telemetry/metrics.ts';

const LOOK_EVERY_MS = 10_000;
const OLDEST_VERSION = 'TLSv1.3';

export interface InternalTlsConfig {
  INTERNAL_TLS_CERT_FILE?: string | undefined;
  INTERNAL_TLS_KEY_FILE?: string | undefined;
  INTERNAL_TLS_CA_FILE?: string | undefined;
}

const VARIABLES = ['INTERNAL_TLS_CERT_FILE', 'INTERNAL_TLS_KEY_FILE', 'INTERNAL_TLS_CA_FILE'] as const;

/** What the files hold, PEM. */
interface Identity {
  cert: Buffer;
  key: Buffer;
  ca: Buffer;
}

type Listener = (identity: Identity) => void;
type Provider = Parameters<typeof experimental.createCertificateProviderServerCredentials>[0];
type CaListener = Parameters<Provider['addCaCertificateListener']>[0];
type IdentityListener = Parameters<Provider['addIdentityCertificateListener']>[0];

export interface InternalTlsOptions {
  metrics: Metrics;
  /** undefined in a program that ends before files change. */
  log: Logger | undefined;
  /** How often the files are looked at. */
  lookEveryMs?: number;
}

/**
 * Mutual TLS between our processes, by files: both sides show a certificate of the same CA. Files that change are read
 * again and hold for new connections; as long as they do not fit together the last ones that did go on.
 */
export class InternalTls implements Part {
  readonly name = 'internal tls';
  readonly #files: Record<keyof Identity, string>;
  readonly #log: Logger | undefined;
  readonly #lookEveryMs: number;
  readonly #listeners = new Set<Listener>();
  readonly #provider: Provider;
  #identity: Identity;
  #timer: NodeJS.Timeout | undefined;
  #isTold = false;

  /** undefined where no file is named; a ConfigError where some are missing or can't be used. */
  static from(config: InternalTlsConfig, options: InternalTlsOptions): InternalTls | undefined {
    const missing = VARIABLES.filter((name) => !config[name]);
    if (missing.length === VARIABLES.length) return undefined;
    if (missing.length > 0) throw new ConfigError(missing.map((name) => `${name} is required with the other two`));
    const [cert = '', key = '', ca = ''] = VARIABLES.map((name) => config[name]);
    return new InternalTls({ cert, key, ca }, options);
  }

  private constructor(files: Record<keyof Identity, string>, { metrics, log, lookEveryMs }: InternalTlsOptions) {
    this.#files = files;
    this.#log = log;
    this.#lookEveryMs = lookEveryMs ?? LOOK_EVERY_MS;
    try {
      this.#identity = readIdentity(files);
    } catch (error) {
      throw new ConfigError([`INTERNAL_TLS_… can not be used: ${messageOf(error)}`]);
    }
    this.#provider = this.#createProvider();
    const help = 'When the certificate that is shown to other processes ends, and the first of its CAs, Unix seconds';
    metrics.gauge('tls_certificate_expiry_timestamp_seconds', help, ['certificate'], (gauge) => {
      gauge.set({ certificate: 'own' }, endOf([this.#identity.cert]));
      gauge.set({ certificate: 'ca' }, endOf(certificatesIn(this.#identity.ca)));
    });
  }

  async start(): Promise<void> {
    this.#timer = setInterval(() => this.look(), this.#lookEveryMs).unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#listeners.clear();
  }

  /** Reads the files again, and takes them when they have changed and fit. */
  look(): void {
    try {
      const identity = readIdentity(this.#files);
      this.#isTold = false;
      if (isSame(identity, this.#identity)) return;
      this.#identity = identity;
      for (const listener of this.#listeners) listener(identity);
      this.#log?.info({ until: new Date(endOf([identity.cert]) * 1000).toISOString() }, 'a new certificate is shown');
    } catch (error) {
      if (!this.#isTold) this.#log?.error({ err: error }, 'the new certificate can not be used, the last one goes on');
      this.#isTold = true;
    }
  }

  /** What an HTTPS server is made with; `follow` it then. */
  get serverOptions(): TlsOptions {
    return { ...this.#identity, requestCert: true, rejectUnauthorized: true, minVersion: OLDEST_VERSION };
  }

  /** Lets a server show each new certificate. */
  follow(server: TlsServer): void {
    this.#listeners.add((identity) => server.setSecureContext({ ...identity, minVersion: OLDEST_VERSION }));
  }

  /** An agent for calls over HTTPS, whose new connections show the newest certificate. */
  createAgent(options: AgentOptions): HttpsAgent {
    const agent = new HttpsAgent({ ...options, ...this.#identity, minVersion: OLDEST_VERSION });
    this.#listeners.add((identity) => Object.assign(agent.options, identity));
    return agent;
  }

  /** A connection to a host, which shows the newest certificate; writes wait until it is open. */
  connect(options: ConnectionOptions & { host: string; port: number }): TLSSocket {
    return connect({
      ...options,
      ...this.#identity,
      servername: serverNameOf(options.host),
      minVersion: OLDEST_VERSION,
    });
  }

  serverCredentials(): ServerCredentials {
    return experimental.createCertificateProviderServerCredentials(this.#provider, this.#provider, true);
  }

  /** What a channel to `host:port` is made with. The certificate must be made out to that host. */
  channelTo(address: string): { credentials: ChannelCredentials; options: ChannelOptions } {
    const [, host = ''] = /^\[?([^/[\]]*)\]?:\d+$/.exec(address) ?? [];
    const create = experimental.createCertificateProviderChannelCredentials;
    if (isIP(host) === 0) return { credentials: create(this.#provider, this.#provider), options: {} };
    // gRPC would send the address as a server's name, which TLS has no room for.
    const verify = { checkServerIdentity: (_name: string, shown: PeerCertificate) => checkServerIdentity(host, shown) };
    const options = { 'grpc.ssl_target_name_override': 'address.invalid' };
    return { credentials: create(this.#provider, this.#provider, verify), options };
  }

  /** What gRPC asks for certificates. Each of its listeners hears the ones of now first. */
  #createProvider(): Provider {
    const added = new Map<unknown, Listener>();
    const add = (key: unknown, listener: Listener) => {
      added.set(key, listener);
      this.#listeners.add(listener);
      process.nextTick(() => listener(this.#identity));
    };
    const remove = (key: unknown) => {
      const listener = added.get(key);
      if (listener) this.#listeners.delete(listener);
      added.delete(key);
    };
    return {
      addCaCertificateListener: (told: CaListener) => add(told, ({ ca }) => told({ caCertificate: ca })),
      removeCaCertificateListener: remove,
      addIdentityCertificateListener: (told: IdentityListener) =>
        add(told, ({ cert, key }) => told({ certificate: cert, privateKey: key })),
      removeIdentityCertificateListener: remove,
    };
  }
}

/** The name in a certificate that a service at this host must show; empty for an address, which is checked as such. */
export function serverNameOf(host: string): string {
  return isIP(host) === 0 ? host : '';
}

/** Throws where a file can't be read, is no PEM, or the key is not the certificate's. Names files, never contents. */
function readIdentity(files: Record<keyof Identity, string>): Identity {
  const identity = { cert: readFileSync(files.cert), key: readFileSync(files.key), ca: readFileSync(files.ca) };
  const certificate = parsed(files.cert, () => new X509Certificate(identity.cert));
  const key = parsed(files.key, () => createPrivateKey(identity.key));
  for (const ca of parsed(files.ca, () => certificatesIn(identity.ca))) parsed(files.ca, () => new X509Certificate(ca));
  if (!certificate.checkPrivateKey(key)) throw new Error(`${files.key} is not the key of ${files.cert}`);
  // TLS asks for more, such as keys that are long enough.
  parsed(files.cert, () => createSecureContext(identity));
  return identity;
}

function parsed<Result>(file: string, parse: () => Result): Result {
  try {
    return parse();
  } catch {
    throw new Error(`${file} does not hold what it should, as PEM`);
  }
}

const PEM = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

function certificatesIn(bundle: Buffer): string[] {
  const found = bundle.toString('latin1').match(PEM);
  if (!found) throw new Error('no certificate');
  return found;
}

/** When the first of them ends, Unix seconds. */
function endOf(certificates: readonly (string | Buffer)[]): number {
  return Math.min(...certificates.map((each) => new X509Certificate(each).validToDate.getTime() / 1000));
}

const isSame = (one: Identity, other: Identity) =>
  one.cert.equals(other.cert) && one.key.equals(other.key) && one.ca.equals(other.ca);

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));
