import type { Reporter, SerializedError, TestModule } from 'vitest/node';
import { FIGURE } from './figures.ts';

export type Counts = { passed: number; failed: number; skipped: number };

/** `3 passed, 0 failed`, with `, 1 skipped` where tests were left out. */
export function summaryLine({ passed, failed, skipped }: Counts): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
}

/** What a run came to. Suites and files that broke outside a test, and errors nobody caught, count as failed too. */
export function countResults(modules: readonly TestModule[], errors: readonly SerializedError[]): Counts {
  const counts = { passed: 0, failed: errors.length, skipped: 0 };
  for (const module of modules) {
    counts.failed += module.errors().length;
    for (const suite of module.children.allSuites()) counts.failed += suite.errors().length;
    for (const test of module.children.allTests()) {
      const { state } = test.result();
      // A test that was begun or queued and never ended did not pass.
      if (state === 'pending') counts.failed += 1;
      else counts[state] += 1;
    }
  }
  return counts;
}

/**
 * Prints the measured figures together, then the result as the very last line of the process, alone, and makes sure that
 * the exit status agrees.
 */
export default class SummaryReporter implements Reporter {
  private counts: Counts | undefined;
  private readonly figures: string[] = [];

  onInit(): void {
    process.once('exit', (status) => this.finish(status));
  }

  onUserConsoleLog(log: { content: string }): void {
    this.figures.push(...log.content.split('\n').filter((line) => line.startsWith(FIGURE)));
  }

  onTestRunEnd(modules: readonly TestModule[], errors: readonly SerializedError[]): void {
    this.counts = countResults(modules, errors);
  }

  private finish(status: number): void {
    const counts = this.counts ?? { passed: 0, failed: 1, skipped: 0 };
    if (status !== 0 && counts.failed === 0) counts.failed = 1;
    if (status === 0 && counts.failed > 0) process.exitCode = 1;
    if (this.figures.length > 0) process.stdout.write(`\n${this.figures.join('\n')}\n`);
    process.stdout.write(`\n${summaryLine(counts)}\n`);
  }
}
