/** Thrown for a command line with mistakes; `faults` lists all of them. */
export class UsageError extends Error {
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super(faults.join('\n'));
    this.name = 'UsageError';
    this.faults = faults;
  }
}

/** Thrown when a command was not confirmed with `--yes`. The message says what the command would do. */
export class ConfirmationError extends Error {
  constructor(consequence: string) {
    super(`This ${consequence}. Nothing was changed. Repeat the command with --yes to do it`);
    this.name = 'ConfirmationError';
  }
}

/** Thrown when a service cannot be called. The message says why, and what to do. */
export class ConnectionError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'ConnectionError';
  }
}

/** Thrown when an erasure does not end, because new rows about the same guild or user keep being written. */
export class UnfinishedError extends Error {
  constructor() {
    super('The erasure is not complete, because new rows keep being written. Stop the sender, and repeat the command');
    this.name = 'UnfinishedError';
  }
}
