export interface ServiceAddress {
  /** A host name or IP address; an IPv6 address without brackets. */
  host: string;
  port: number;
}

/** Returns the address to which the connections to a service with this URL are opened. */
export function serviceAddress({ hostname, port, protocol }: URL): ServiceAddress {
  return {
    host: hostname.replaceAll(/[[\]]/g, ''),
    port: Number(port) || (protocol === 'https:' ? 443 : 80),
  };
}
