import type { Database } from '#kit/postgres/pool.ts';
import { isErasureReported } from '../store/erased-persons.ts';
import type { EventLog } from './log.ts';
import { ownEvent } from './log-event.ts';

/** The accounts of a person who is erased; at least one is set. */
export interface ErasedPerson {
  chatId?: string | undefined;
  gameId?: number | undefined;
}

export interface ErasedPersonsOptions {
  database: Database;
  log: EventLog;
}

/** Reports the erasure of persons as events, so that systems with copies of their data erase these too. */
export class ErasedPersons {
  readonly #options: ErasedPersonsOptions;

  constructor(options: ErasedPersonsOptions) {
    this.#options = options;
  }

  /**
   * Appends `person.erased`, unless the log has this event and nothing about the person after it. Call it before the
   * person's events are erased: an erasure that was interrupted and is repeated has then been reported.
   */
  async report(guildId: string, { chatId, gameId }: ErasedPerson): Promise<void> {
    const { database, log } = this.#options;
    const persons = [
      ...(chatId === undefined ? [] : [`chat:${chatId}`]),
      ...(gameId === undefined ? [] : [`game:${gameId}`]),
    ];
    // The event itself must not be found by an erasure of the person, which would empty it.
    const marks = persons.map((person) => `erased:${person}`);
    await database.transaction(async (transaction) => {
      if (await isErasureReported(transaction, guildId, { persons, marks })) return;
      await log.appendOwn(transaction, guildId, [
        ownEvent('person.erased', { chat_id: chatId ?? null, game_id: gameId ?? null }, { persons: marks }),
      ]);
    });
  }
}
