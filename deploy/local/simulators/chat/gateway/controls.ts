import { z } from 'zod';
import { parse } from '../../parse.ts';
import type { Call, Route } from '../../routes.ts';
import { done, ok } from '../../routes.ts';
import type { Gateway } from './gateway.ts';
import type { Session } from './session.ts';

const actionSchema = z.strictObject({
  action: z.enum([
    /** Cuts the connection; the session can be resumed. */
    'cut',
    /** Closes the connection with `code`; the session can be resumed. */
    'close',
    /** Asks the client to reconnect. */
    'reconnect',
    /** Ends the session, and says so. */
    'invalidate',
    /** Cuts the connection and forgets the session, so that resuming it fails. */
    'forget',
    /** Leaves the connection open and sends nothing more on it. */
    'silence',
  ]),
  code: z.int().min(3000).max(4999).default(4000),
  /** The ID of the shard; left out, all shards. */
  shard: z.int().min(0).optional(),
});

/** Controls that show the sessions of the websocket and disturb them. */
export function gatewayControls(gateway: Gateway): Route[] {
  return [
    { method: 'GET', pattern: '/__gateway', handle: () => ok(view(gateway)) },
    { method: 'POST', pattern: '/__gateway', handle: done((call) => act(gateway, call)) },
  ];
}

function view(gateway: Gateway) {
  const sessions = gateway.sessions.list().map(({ id, shard, intents, seq, receiver }) => ({
    session_id: id,
    shard,
    intents,
    seq,
    connected: receiver !== undefined,
  }));
  return { ...gateway.counts, connections: gateway.connections.length, sessions };
}

function act(gateway: Gateway, call: Call): void {
  const { action, code, shard } = parse(actionSchema, call);
  const isMeant = (session: Session | undefined) => shard === undefined || session?.shard[0] === shard;
  if (action === 'forget' || action === 'invalidate')
    for (const session of gateway.sessions.list().filter(isMeant)) gateway.sessions.forget(session);
  for (const connection of gateway.connections.filter(({ session }) => isMeant(session))) {
    if (action === 'cut' || action === 'forget') connection.cut();
    else if (action === 'close') connection.close(code);
    else if (action === 'reconnect') connection.askToReconnect();
    else if (action === 'silence') connection.isSilent = true;
    else {
      connection.session = undefined;
      connection.invalidate(false);
    }
  }
}
