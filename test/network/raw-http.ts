import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';

/** The text with CRLF for each `\n`. */
export const wire = (raw: string) => raw.replaceAll('\n', '\r\n');

/** Connects to `host:port`, from a loopback address if one is given. */
export async function openSocket(address: string, from = '127.0.0.1'): Promise<Socket> {
  const [host = '', port = ''] = address.split(':');
  const socket = connect({ host, port: Number(port), localAddress: from });
  await once(socket, 'connect');
  return socket;
}

/** Sends a text to `host:port`, with CRLF for each `\n`, and reads until the peer closes the connection. */
export async function sendRaw(address: string, raw: string): Promise<string> {
  const socket = await openSocket(address);
  socket.write(wire(raw), 'latin1');
  return text(socket);
}
