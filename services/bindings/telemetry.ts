import type { Logger } from '#kit/telemetry/log.ts';
import type { Metrics } from '#kit/telemetry/metrics.ts';
import type { Binding } from './domain/binding.ts';
import type { Verdict } from './domain/rules.ts';

/** What happens to bindings and with them: a counter for each, and a line in the log for each change. */
export class BindingsEvents {
  readonly #changes;
  readonly #unnamed;
  readonly #verdicts;
  readonly #log: Logger;

  constructor(metrics: Metrics, log: Logger) {
    this.#changes = metrics.counter('bindings_changes_total', 'Bindings added, updated and removed', [
      'change',
      'type',
    ]);
    this.#unnamed = metrics.counter('bindings_names_missing_total', 'Names that a platform did not tell', ['of']);
    this.#verdicts = metrics.counter('bindings_role_verdicts_total', 'Roles weighed for members', ['verdict']);
    this.#log = log;
  }

  changed(change: 'added' | 'updated' | 'removed', guildId: string, { id, type, chatRoleId }: Binding): void {
    this.#changes.inc({ change, type });
    this.#log.info({ guild_id: guildId, binding_id: id, type, role_id: chatRoleId }, `a binding was ${change}`);
  }

  namesMissing(of: 'role' | 'group', count: number): void {
    if (count > 0) this.#unnamed.inc({ of }, count);
  }

  weighed(verdicts: Record<Verdict, number>): void {
    for (const [verdict, count] of Object.entries(verdicts)) this.#verdicts.inc({ verdict }, count);
  }
}
