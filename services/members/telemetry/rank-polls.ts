import type { Metrics } from '#kit/telemetry/metrics.ts';

/** The metrics of rank polls, which read the ranks of linked members to notice changes. */
export class RankPollTelemetry {
  readonly #members;

  constructor(metrics: Metrics) {
    this.#members = metrics.counterOf(
      'members_rank_poll_members_total',
      'Linked members whose ranks were read to notice changes, by outcome (unknown: the game platform did not tell)',
      'outcome',
      ['changed', 'unchanged', 'unknown'],
    );
  }

  /** Counts a page of members: `read` are those whose ranks are known, `changed` those whose ranks differ. */
  polled({ changed, read, all }: { changed: number; read: number; all: number }): void {
    this.#members.inc({ outcome: 'changed' }, changed);
    this.#members.inc({ outcome: 'unchanged' }, read - changed);
    this.#members.inc({ outcome: 'unknown' }, all - read);
  }
}
