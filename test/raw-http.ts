import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';

/** Sends bytes to `host:port` as they are, with `\n` for CRLF, and reads until the peer closes. */
export async function sendRaw(address: string, raw: string): Promise<string> {
  const [host = '', port = ''] = address.split(':');
  const socket = connect(Number(port), host);
  await once(socket, 'connect');
  socket.write(raw.replaceAll('\n', '\r\n'), 'latin1');
  return text(socket);
}
