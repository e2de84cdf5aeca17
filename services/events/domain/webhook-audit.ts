import { createHash } from 'node:crypto';
import type { AuditOnlyType } from '#proto/rest/events/audit.ts';
import type { Endpoint } from './endpoint.ts';

type NameOf<Type> = Type extends `webhook.${infer Name}` ? Name : never;
/** What a client of the REST API has done to a webhook. */
export type WebhookAction = NameOf<AuditOnlyType>;

const DIGEST_LENGTH = 16;

/**
 * Returns a webhook for the audit. The path of a URL may be a secret, as with the webhooks of the chat platform, so the
 * audit has the host, and a digest that shows whether the URL has changed.
 */
export const auditView = ({ id, url, types, description, format, enabled, disabledReason, cursorSeq }: Endpoint) => ({
  webhook_id: id,
  host: new URL(url).host,
  url_sha256: createHash('sha256').update(url).digest('hex').slice(0, DIGEST_LENGTH),
  types: [...types],
  description,
  format,
  enabled,
  disabled_reason: disabledReason,
  delivered_seq: cursorSeq,
});
