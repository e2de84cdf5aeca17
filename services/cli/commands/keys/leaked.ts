import { KeyAdminServiceService } from '#proto/gen/guild/auth/v1/admin.ts';
import type { Input, Output } from '../../command.ts';
import type { Connections } from '../../connections.ts';
import { table } from '../../text.ts';
import type { LeakedKey } from './leaked-report.ts';

/** The maximum number of leaked API keys in one call to the auth service. */
const BATCH_SIZE = 64;

/**
 * Revokes leaked API keys, or only looks them up with `--dry-run`. Only the hashes of the keys are sent to the auth
 * service.
 */
export async function revokeLeaked(
  input: Input,
  connections: Connections,
  leaked: readonly LeakedKey[],
): Promise<Output> {
  const dryRun = input.flag('dry-run');
  const findings: { prefix: string; result: string; key_id: string | null; url: string | null }[] = [];
  for (let from = 0; from < leaked.length; from += BATCH_SIZE) {
    const batch = leaked.slice(from, from + BATCH_SIZE);
    const keys = batch.map(({ key, url, source }) => ({ guildId: key.guildId, hash: key.hash, url, source }));
    const { results } = await connections
      .admin(KeyAdminServiceService, 'auth')
      .revokeLeakedKeys({ keys, dryRun, actor: input.note });
    for (const [index, { result, keyId }] of results.entries()) {
      const leakedKey = batch[index];
      if (!leakedKey) continue;
      const { key, url } = leakedKey;
      findings.push({ prefix: key.prefix, result, key_id: keyId || null, url: url || null });
    }
  }
  const rows = findings.map(({ prefix, result, key_id: keyId, url }) => [prefix, result, keyId ?? '-', url ?? '-']);
  const text = rows.length > 0 ? table(['PREFIX', 'RESULT', 'KEY', 'FOUND AT'], rows) : 'The report contains no keys.';
  return { document: { dry_run: dryRun, findings }, text };
}
