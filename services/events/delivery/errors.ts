/**
 * Why an attempt to deliver failed, in a short text for the owner of the endpoint: it says nothing about our network.
 */
export class DeliveryError extends Error {
  /** True if the cause is in this installation, so that the failure says nothing about the endpoint. */
  readonly isOurs: boolean;

  constructor(text: string, { isOurs = false }: { isOurs?: boolean } = {}) {
    super(text);
    this.name = 'DeliveryError';
    this.isOurs = isOurs;
  }
}

const CERTIFICATE_CODES: Record<string, string> = {
  ERR_TLS_CERT_ALTNAME_INVALID: 'TLS: the certificate is for another name',
  CERT_HAS_EXPIRED: 'TLS: the certificate has expired',
  CERT_NOT_YET_VALID: 'TLS: the certificate is not valid yet',
  CERT_REVOKED: 'TLS: the certificate is revoked',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'TLS: the certificate is self-signed',
  SELF_SIGNED_CERT_IN_CHAIN: 'TLS: the certificate is not trusted',
  UNABLE_TO_GET_ISSUER_CERT: 'TLS: the certificate is not trusted',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'TLS: the certificate is not trusted',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'TLS: the certificate chain is incomplete',
};

const CONNECTION_CODES: Record<string, string> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection closed',
  EPIPE: 'connection closed',
  ETIMEDOUT: 'timeout',
  EHOSTUNREACH: 'address unreachable',
  ENETUNREACH: 'address unreachable',
  EADDRNOTAVAIL: 'address unreachable',
  EAFNOSUPPORT: 'address unreachable',
  HPE_HEADER_OVERFLOW: 'too many headers',
};

/** Errors of this process, which has no more sockets or memory. They do not count as failures of the endpoint. */
const OWN_CODES = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM']);

/** True if the connection was closed before a response arrived. */
export const isClosed = (error: unknown) => ['ECONNRESET', 'EPIPE'].includes(codeOf(error));

/** Converts any error of a connection, of TLS or of the HTTP parser into a DeliveryError. */
export function toDeliveryError(error: unknown): DeliveryError {
  if (error instanceof DeliveryError) return error;
  const code = codeOf(error);
  if (OWN_CODES.has(code)) return new DeliveryError('temporarily unavailable', { isOurs: true });
  const known = CERTIFICATE_CODES[code] ?? CONNECTION_CODES[code];
  if (known !== undefined) return new DeliveryError(known);
  if (code.startsWith('HPE_')) return new DeliveryError('malformed response');
  if (/^(?:ERR_SSL_|ERR_TLS_|EPROTO$)/.test(code)) return new DeliveryError('TLS: the handshake failed');
  return new DeliveryError(
    /^CERT_|^INVALID_CA$/.test(code) ? 'TLS: the certificate is not trusted' : 'connection failed',
  );
}

function codeOf(error: unknown): string {
  const { code } = Object(error) as { code?: unknown };
  return typeof code === 'string' ? code : '';
}
