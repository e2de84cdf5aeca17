import { KeyAdminServiceService } from '#proto/gen/guild/auth/v1/admin.ts';
import type { Input, Output } from '../command.ts';
import type { Connections } from '../connections.ts';
import { table } from '../text.ts';
import type { Finding } from './leaked-report.ts';

/** Findings of a call. */
const LEAKED_BATCH = 64;

/** Revokes the keys that were found, or with `--dry-run` looks them up. Only their hashes are sent. */
export async function revokeLeaked(
  input: Input,
  connections: Connections,
  findings: readonly Finding[],
): Promise<Output> {
  const dryRun = input.flag('dry-run');
  const reported: { prefix: string; result: string; key_id: string | null; url: string | null }[] = [];
  for (let from = 0; from < findings.length; from += LEAKED_BATCH) {
    const part = findings.slice(from, from + LEAKED_BATCH);
    const keys = part.map(({ key, url, source }) => ({ guildId: key.guildId, hash: key.hash, url, source }));
    const { results } = await connections
      .admin(KeyAdminServiceService, 'auth')
      .revokeLeakedKeys({ keys, dryRun, actor: input.note });
    for (const [index, { result, keyId }] of results.entries()) {
      const finding = part[index];
      if (finding) {
        reported.push({ prefix: finding.key.prefix, result, key_id: keyId || null, url: finding.url || null });
      }
    }
  }
  const rows = reported.map(({ prefix, result, key_id: keyId, url }) => [prefix, result, keyId ?? '-', url ?? '-']);
  const text =
    rows.length > 0 ? table(['PREFIX', 'RESULT', 'KEY', 'FOUND AT'], rows) : 'There is no key in the report.';
  return { document: { dry_run: dryRun, findings: reported }, text };
}
