import { expect, test } from 'vitest';
import { createLog } from '#kit/telemetry/log.ts';
import { Metrics } from '#kit/telemetry/metrics.ts';
import { WebhookTelemetry } from './webhooks.ts';

test('log lines have the host of a URL, and never its path or query, which may be a secret', async () => {
  const lines: string[] = [];
  const log = await createLog({ service: 'test', level: 'debug', destination: { write: (line) => lines.push(line) } });
  const telemetry = new WebhookTelemetry(new Metrics(), log);
  const recipient = { guildId: '910000000000000001', id: 'one', url: 'https://example.com:8443/hooks/s3cret?t=s3cret' };
  const attempt = { eventId: 'e', seq: 1, attempt: 1, status: 500, latencyMs: 3, error: null, answer: '' };
  const outcome = { isSuccess: false, isGone: false, isLast: false, delayMs: 5 };
  telemetry.attempted(recipient, attempt, outcome);
  telemetry.attempted(recipient, attempt, { ...outcome, isLast: true });
  telemetry.attempted(recipient, { ...attempt, status: 200 }, { ...outcome, isSuccess: true });
  telemetry.notSent(recipient, 'temporarily unavailable');
  telemetry.changed('updated', recipient, 'key');
  expect(lines).toHaveLength(5);
  expect(lines.filter((line) => !line.includes('"host":"example.com:8443"'))).toEqual([]);
  expect(lines.filter((line) => line.includes('s3cret'))).toEqual([]);
});
