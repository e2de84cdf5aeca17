import { type Clock, unixSeconds } from '#kit/clock.ts';
import type { KeyRing } from '#kit/security/keyring.ts';
import type { LogEvent } from '../domain/log-event.ts';
import { decryptSecret } from '../domain/secrets.ts';
import { eventView, mayReadPersons } from '../http/views.ts';
import type { Recipient } from '../store/turns.ts';
import { chatMessage } from './chat/message.ts';
import type { DeliveryResult, Sender } from './sender.ts';
import { signatureHeaders } from './signature.ts';

export interface MessagesOptions {
  sender: Pick<Sender, 'send'>;
  ring: KeyRing;
  clock: Clock;
}

/** Builds, signs and sends the requests with which endpoints receive events. */
export class Messages {
  readonly #options: MessagesOptions;

  constructor(options: MessagesOptions) {
    this.#options = options;
  }

  /** Sends an event to an endpoint once. Never rejects because of the receiver. */
  send(
    recipient: Pick<Recipient, 'url' | 'format' | 'scopes' | 'secret' | 'previousSecret'>,
    event: LogEvent,
    timeoutMs: number,
  ): Promise<DeliveryResult> {
    const { sender, ring, clock } = this.#options;
    const { url, format, scopes, secret, previousSecret } = recipient;
    const view = eventView(event, mayReadPersons(scopes));
    const body = JSON.stringify(format === 'chat' ? chatMessage(view) : view);
    const secrets = [secret, previousSecret].flatMap((encrypted) =>
      encrypted ? [decryptSecret(ring, encrypted)] : [],
    );
    const headers = signatureHeaders(secrets, event.id, unixSeconds(clock.now()), body);
    return sender.send({ url, headers, body, timeoutMs });
  }
}
