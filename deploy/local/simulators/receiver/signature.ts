import { createHmac, timingSafeEqual } from 'node:crypto';

/** The maximum difference between a delivery's timestamp and the current time; older deliveries may be replays. */
const TOLERANCE_SECONDS = 300;

/** `no secret`: the receiver was not told the webhook's secret, so it cannot verify. */
export type Verdict = 'valid' | 'invalid' | 'expired' | 'no secret';

/** The headers and body of a delivery, by the Standard Webhooks specification. */
export interface Delivery {
  id: string;
  timestamp: string;
  /** Space-separated signatures, each as `v1,<base64>`; two while a rotation lasts. */
  signature: string;
  body: string;
}

/** Verifies the signature of a delivery with the webhook's secret (`whsec_` and base64). */
export function verify(secret: string | undefined, delivery: Delivery, nowSeconds: number): Verdict {
  if (secret === undefined) return 'no secret';
  const { id, timestamp, signature, body } = delivery;
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64');
  const expected = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest();
  const isSigned = signature.split(' ').some((each) => {
    const [version, value = ''] = each.split(',');
    const given = Buffer.from(value, 'base64');
    return version === 'v1' && given.length === expected.length && timingSafeEqual(given, expected);
  });
  if (!isSigned) return 'invalid';
  return Math.abs(nowSeconds - Number(timestamp)) <= TOLERANCE_SECONDS ? 'valid' : 'expired';
}
