import type { Logger } from '#kit/telemetry/log.ts';
import type { Metrics } from '#kit/telemetry/metrics.ts';
import type { Binding } from './domain/binding.ts';
import type { Verdict } from './domain/rules.ts';

/** Counts changes and evaluations of role bindings, and logs the changes. */
export class BindingsTelemetry {
  readonly #changes;
  readonly #missingNames;
  readonly #verdicts;
  readonly #log: Logger;

  constructor(metrics: Metrics, log: Logger) {
    this.#changes = metrics.counter('bindings_changes_total', 'Bindings added, updated and removed', [
      'change',
      'type',
    ]);
    this.#missingNames = metrics.counter(
      'bindings_names_missing_total',
      'Names of roles and groups that a response left out because a platform did not return them in time',
      ['of'],
    );
    this.#verdicts = metrics.counter(
      'bindings_role_verdicts_total',
      'Verdicts on chat roles of members (wanted, not_wanted, unknown) from evaluations of bindings',
      ['verdict'],
    );
    this.#log = log;
  }

  changed(change: 'added' | 'updated' | 'removed', guildId: string, { id, type, chatRoleId }: Binding): void {
    this.#changes.inc({ change, type });
    this.#log.info({ guild_id: guildId, binding_id: id, type, role_id: chatRoleId }, `binding ${change}`);
  }

  namesMissing(of: 'role' | 'group', count: number): void {
    if (count > 0) this.#missingNames.inc({ of }, count);
  }

  evaluated(verdicts: Record<Verdict, number>): void {
    for (const [verdict, count] of Object.entries(verdicts)) this.#verdicts.inc({ verdict }, count);
  }
}
