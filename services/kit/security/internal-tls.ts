import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
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

const CHECK_INTERVAL_MS = 10_000;
const MIN_VERSION = 'TLSv1.3';

export interface InternalTlsConfig {
  INTERNAL_TLS_CERT_FILE?: string | undefined;
  INTERNAL_TLS_KEY_FILE?: string | undefined;
  INTERNAL_TLS_CA_FILE?: string | undefined;
}

const VARIABLES = ['INTERNAL_TLS_CERT_FILE', 'INTERNAL_TLS_KEY_FILE', 'INTERNAL_TLS_CA_FILE'] as const;

/** The contents of the three files, PEM. */
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
  /** Undefined in a program that ends before its files change. */
  log: Logger | undefined;
  /** How often the files are checked for changes. */
  checkIntervalMs?: number;
}

/**
 * Mutual TLS between our processes, configured by files: both sides present a certificate of the same CA. Changed files
 * are read again and apply to new connections. While the new files do not match each other, the previous ones stay in
 * use.
 */
export class InternalTls implements Part {
  readonly name = 'internal tls';
  readonly #files: Record<keyof Identity, string>;
  readonly #log: Logger | undefined;
  readonly #checkIntervalMs: number;
  readonly #listeners = new Set<Listener>();
  readonly #provider: Provider;
  #identity: Identity;
  #timer: NodeJS.Timeout | undefined;
  #isFailureLogged = false;

  /** Undefined if no file is configured. Throws a ConfigError if some are missing or unusable. */
  static from(config: InternalTlsConfig, options: InternalTlsOptions): InternalTls | undefined {
    const missing = VARIABLES.filter((name) => !config[name]);
    if (missing.length === VARIABLES.length) return undefined;
    if (missing.length > 0) throw new ConfigError(missing.map((name) => `${name} is required with the other two`));
    const [cert = '', key = '', ca = ''] = VARIABLES.map((name) => config[name]);
    return new InternalTls({ cert, key, ca }, options);
  }

  private constructor(files: Record<keyof Identity, string>, { metrics, log, checkIntervalMs }: InternalTlsOptions) {
    this.#files = files;
    this.#log = log;
    this.#checkIntervalMs = checkIntervalMs ?? CHECK_INTERVAL_MS;
    try {
      this.#identity = readIdentity(files);
    } catch (error) {
      throw new ConfigError([`INTERNAL_TLS_… cannot be used: ${messageOf(error)}`]);
    }
    this.#provider = this.#createProvider();
    const help =
      'When the certificate of this process expires, and when the first certificate of its CA bundle does (Unix seconds)';
    metrics.gauge('tls_certificate_expiry_timestamp_seconds', help, ['certificate'], (gauge) => {
      gauge.set({ certificate: 'own' }, endOf([this.#identity.cert]));
      gauge.set({ certificate: 'ca' }, endOf(certificatesIn(this.#identity.ca)));
    });
  }

  async start(): Promise<void> {
    this.#timer = setInterval(() => this.reload(), this.#checkIntervalMs).unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#listeners.clear();
  }

  /** Reads the files again, and uses them if they have changed and match each other. */
  reload(): void {
    try {
      const identity = readIdentity(this.#files);
      this.#isFailureLogged = false;
      if (isSame(identity, this.#identity)) return;
      this.#identity = identity;
      for (const listener of this.#listeners) listener(identity);
      this.#log?.info({ until: new Date(endOf([identity.cert]) * 1000).toISOString() }, 'new TLS certificate in use');
    } catch (error) {
      if (!this.#isFailureLogged)
        this.#log?.error({ err: error }, 'new TLS certificate cannot be used, the previous one stays in use');
      this.#isFailureLogged = true;
    }
  }

  /** The options to create an HTTPS server with; pass the server to `follow` afterwards. */
  get serverOptions(): TlsOptions {
    return { ...this.#identity, requestCert: true, rejectUnauthorized: true, minVersion: MIN_VERSION };
  }

  /** Makes a server present each new certificate. */
  follow(server: TlsServer): void {
    this.#listeners.add((identity) => server.setSecureContext({ ...identity, minVersion: MIN_VERSION }));
  }

  /** Connects to a host and presents the newest certificate; writes are buffered until the connection is open. */
  connect(options: ConnectionOptions & { host: string; port: number }): TLSSocket {
    return connect({
      ...options,
      ...this.#identity,
      servername: serverNameOf(options.host),
      minVersion: MIN_VERSION,
    });
  }

  serverCredentials(): ServerCredentials {
    return experimental.createCertificateProviderServerCredentials(this.#provider, this.#provider, true);
  }

  /** The options of a gRPC channel to `host:port`. The server's certificate must be issued for that host. */
  channelTo(address: string): { credentials: ChannelCredentials; options: ChannelOptions } {
    const [, host = ''] = /^\[?([^/[\]]*)\]?:\d+$/.exec(address) ?? [];
    const create = experimental.createCertificateProviderChannelCredentials;
    if (isIP(host) === 0) return { credentials: create(this.#provider, this.#provider), options: {} };
    // gRPC would send the IP address as the TLS server name, which must not be an address.
    const verify = { checkServerIdentity: (_name: string, shown: PeerCertificate) => checkServerIdentity(host, shown) };
    const options = { 'grpc.ssl_target_name_override': 'address.invalid' };
    return { credentials: create(this.#provider, this.#provider, verify), options };
  }

  /** The certificate provider for gRPC. Each listener first receives the current certificates. */
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
      addCaCertificateListener: (listener: CaListener) => add(listener, ({ ca }) => listener({ caCertificate: ca })),
      removeCaCertificateListener: remove,
      addIdentityCertificateListener: (listener: IdentityListener) =>
        add(listener, ({ cert, key }) => listener({ certificate: cert, privateKey: key })),
      removeIdentityCertificateListener: remove,
    };
  }
}

/** The TLS server name of a host: the host itself; empty for an IP address, which is verified as an address. */
function serverNameOf(host: string): string {
  return isIP(host) === 0 ? host : '';
}

/** Reads and checks the files. Throws if one is unreadable, is not PEM, or the key does not match; names files only. */
function readIdentity(files: Record<keyof Identity, string>): Identity {
  const identity = { cert: readFileSync(files.cert), key: readFileSync(files.key), ca: readFileSync(files.ca) };
  const certificate = parsed(files.cert, () => new X509Certificate(identity.cert));
  const key = parsed(files.key, () => createPrivateKey(identity.key));
  for (const ca of parsed(files.ca, () => certificatesIn(identity.ca))) parsed(files.ca, () => new X509Certificate(ca));
  if (!certificate.checkPrivateKey(key)) throw new Error(`${files.key} is not the key of ${files.cert}`);
  // TLS has further requirements, such as a minimum key length.
  parsed(files.cert, () => createSecureContext(identity));
  return identity;
}

function parsed<Result>(file: string, parse: () => Result): Result {
  try {
    return parse();
  } catch {
    throw new Error(`${file} is not valid PEM of the expected kind`);
  }
}

const PEM = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

function certificatesIn(bundle: Buffer): string[] {
  const found = bundle.toString('latin1').match(PEM);
  if (!found) throw new Error('no certificate');
  return found;
}

/** When the first of the certificates expires, in Unix seconds. */
function endOf(certificates: readonly (string | Buffer)[]): number {
  return Math.min(...certificates.map((each) => new X509Certificate(each).validToDate.getTime() / 1000));
}

const isSame = (one: Identity, other: Identity) =>
  one.cert.equals(other.cert) && one.key.equals(other.key) && one.ca.equals(other.ca);

const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error));
