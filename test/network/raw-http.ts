import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';

/** Text with `\n` as it is on the wire. */
export const wire = (raw: string) => raw.replaceAll('\n', '\r\n');

/** A connection to `host:port`. */
export async function openSocket(address: string): Promise<Socket> {
  const [host = '', port = ''] = address.split(':');
  const socket = connect(Number(port), host);
  await once(socket, 'connect');
  return socket;
}

/** Sends bytes to `host:port` as they are, with `\n` for CRLF, and reads until the peer closes. */
export async function sendRaw(address: string, raw: string): Promise<string> {
  const socket = await openSocket(address);
  socket.write(wire(raw), 'latin1');
  return text(socket);
}
