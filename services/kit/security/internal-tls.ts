import { isIP } from 'node:net';
import {
  type ConnectionOptions,
  checkServerIdentity,
  connect,
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
import {
  certificatesIn,
  endOf,
  faultsOfInternalTls,
  type Identity,
  type IdentityFiles,
  type InternalTlsConfig,
  isSame,
  readIdentity,
  startOf,
} from './tls-identity.ts';

const CHECK_INTERVAL_MS = 10_000;
const MIN_VERSION = 'TLSv1.3';

type Listener = (identity: Identity) => void;
type Provider = Parameters<typeof experimental.createCertificateProviderServerCredentials>[0];
type CaListener = Parameters<Provider['addCaCertificateListener']>[0];
type IdentityListener = Parameters<Provider['addIdentityCertificateListener']>[0];

export interface InternalTlsOptions {
  metrics: Metrics;
  /** Logs changes of the certificate files; undefined in a program that ends before the files change. */
  log: Logger | undefined;
  /** How often, in milliseconds, the certificate files are checked for changes; 10 s if left out. */
  checkIntervalMs?: number;
}

/**
 * Mutual TLS between our processes, configured by files: both sides present a certificate of the same CA. When the
 * files change, they are read again and apply to new connections. While the new files do not match each other, the
 * previous certificates stay in use.
 */
export class InternalTls implements Part {
  readonly name = 'internal tls';
  readonly #files: IdentityFiles;
  readonly #log: Logger | undefined;
  readonly #checkIntervalMs: number;
  readonly #listeners = new Set<Listener>();
  readonly #provider: Provider;
  #identity: Identity;
  #timer: NodeJS.Timeout | undefined;
  #isFailureLogged = false;

  /**
   * Reads the certificate files; returns undefined if none is configured. Throws a ConfigError if some are missing or
   * unusable.
   */
  static from(config: InternalTlsConfig, options: InternalTlsOptions): InternalTls | undefined {
    const faults = faultsOfInternalTls(config);
    if (faults.length > 0) throw new ConfigError(faults);
    const { INTERNAL_TLS_CERT_FILE: cert, INTERNAL_TLS_KEY_FILE: key, INTERNAL_TLS_CA_FILE: ca } = config;
    return cert && key && ca ? new InternalTls({ cert, key, ca }, options) : undefined;
  }

  private constructor(files: IdentityFiles, { metrics, log, checkIntervalMs }: InternalTlsOptions) {
    this.#files = files;
    this.#log = log;
    this.#checkIntervalMs = checkIntervalMs ?? CHECK_INTERVAL_MS;
    this.#identity = readIdentity(files);
    this.#provider = this.#createProvider();
    const help =
      'Unix time in seconds when a certificate expires: of this process (own), and the first one of its CA bundle (ca)';
    metrics.gauge('tls_certificate_expiry_timestamp_seconds', help, ['certificate'], (gauge) => {
      gauge.set({ certificate: 'own' }, endOf([this.#identity.cert]));
      gauge.set({ certificate: 'ca' }, endOf(certificatesIn(this.#identity.ca)));
    });
    const start = 'Unix time in seconds from which the same certificate is valid, so that its lifetime is known';
    metrics.gauge('tls_certificate_start_timestamp_seconds', start, ['certificate'], (gauge) => {
      gauge.set({ certificate: 'own' }, startOf([this.#identity.cert]));
      gauge.set({ certificate: 'ca' }, startOf(certificatesIn(this.#identity.ca)));
    });
  }

  async start(): Promise<void> {
    this.#timer = setInterval(() => this.reload(), this.#checkIntervalMs).unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#listeners.clear();
  }

  /** Reads the certificate files again, and uses them if they have changed and match each other. */
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

  /** The TLS options to create an HTTPS server with; pass the server to `follow` afterwards. */
  get serverOptions(): TlsOptions {
    return { ...this.#identity, requestCert: true, rejectUnauthorized: true, minVersion: MIN_VERSION };
  }

  /** Makes an HTTPS server present each new certificate after the certificate files change. */
  follow(server: TlsServer): void {
    this.#listeners.add((identity) => server.setSecureContext({ ...identity, minVersion: MIN_VERSION }));
  }

  /**
   * Opens a TLS connection to a host with the newest certificate of this process; writes are buffered until it is open.
   */
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

  /**
   * Returns the credentials and options of a gRPC channel to `host:port`. The server's certificate must be issued for
   * that host.
   */
  channelTo(address: string): { credentials: ChannelCredentials; options: ChannelOptions } {
    const [, host = ''] = /^\[?([^/[\]]*)\]?:\d+$/.exec(address) ?? [];
    const create = experimental.createCertificateProviderChannelCredentials;
    if (isIP(host) === 0) return { credentials: create(this.#provider, this.#provider), options: {} };
    // gRPC would send an IP address as the TLS server name, which TLS does not allow, so another name is sent instead.
    const verify = { checkServerIdentity: (_name: string, shown: PeerCertificate) => checkServerIdentity(host, shown) };
    const options = { 'grpc.ssl_target_name_override': 'address.invalid' };
    return { credentials: create(this.#provider, this.#provider, verify), options };
  }

  /**
   * Creates the certificate provider for gRPC. A listener receives the current certificates first, then each new
   * version.
   */
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

/** Returns the TLS server name for a host: the host itself, or an empty text for an IP address. */
function serverNameOf(host: string): string {
  return isIP(host) === 0 ? host : '';
}
