/** Returns the IP address in the peer of a call, such as `10.0.0.7:51234` or `[::1]:51234`. */
export const addressIn = (peer: string) =>
  peer
    .replace(/^ipv[46]:/, '')
    .replace(/:\d+$/, '')
    .replace(/^\[|\]$/g, '');
