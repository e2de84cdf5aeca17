import { stripVTControlCharacters } from 'node:util';
import type { Reporter, SerializedError, TestModule } from 'vitest/node';
import { FIGURE } from './measure/figures.ts';

/** Lines of a comparison that the summary shows. */
const MOST_DIFFERENCES = 12;

type Counts = { passed: number; failed: number; skipped: number };

/** `3 passed, 0 failed`, with `, 1 skipped` if tests were skipped. */
function summaryLine({ passed, failed, skipped }: Counts): string {
  return `${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`;
}

type Result = { counts: Counts; failures: string[] };

/** The result of a run. Suites and files that failed outside a test, and uncaught errors, count as failures too. */
function resultOf(modules: readonly TestModule[], errors: readonly SerializedError[]): Result {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  const failures: string[] = [];
  const fail = (where: string, error: { message?: unknown; diff?: unknown } | undefined) => {
    counts.failed += 1;
    failures.push(`failed: ${where}: ${reasonOf(error)}`);
  };
  for (const module of modules) {
    const file = module.relativeModuleId;
    for (const error of module.errors()) fail(file, error);
    for (const suite of module.children.allSuites()) {
      for (const error of suite.errors()) fail(`${file} > ${suite.fullName}`, error);
    }
    for (const test of module.children.allTests()) {
      const { state, errors: reasons } = test.result();
      // A test that was started or queued and never ended has failed.
      if (state === 'pending' || state === 'failed') fail(`${file} > ${test.fullName}`, reasons?.[0]);
      else counts[state] += 1;
    }
  }
  for (const error of errors) fail('outside the tests', error);
  return { counts, failures };
}

/** How many of the slowest files are named, and how long they take at least, in seconds. */
const SLOWEST = 25;
const SLOW_SECONDS = 10;

/** One line with the files that take longest, in seconds; none if every file is quick. */
function slowFiles(modules: readonly TestModule[]): string[] {
  const files = modules.map((module) => ({
    file: module.relativeModuleId,
    seconds: module.diagnostic().duration / 1000,
  }));
  const slow = files.filter(({ seconds }) => seconds >= SLOW_SECONDS).sort((a, b) => b.seconds - a.seconds);
  const named = slow.slice(0, SLOWEST).map(({ file, seconds }) => `${file} ${seconds.toFixed(0)}`);
  return named.length > 0 ? [`slowest files, in seconds: ${named.join(', ')}`] : [];
}

/** The first line of the thrown value's message, and the lines that differ if it compared values. */
function reasonOf(error: { message?: unknown; diff?: unknown } | undefined): string {
  const [message] = linesOf(error?.message);
  const differences = linesOf(error?.diff).filter((line) => /^[-+] {2}/.test(line));
  return [message || 'no reason was given', ...differences.slice(0, MOST_DIFFERENCES)].join('\n  ');
}

/** The lines of a text without colours; none if it is not a text, because anything can be thrown. */
function linesOf(value: unknown): string[] {
  return typeof value === 'string' ? stripVTControlCharacters(value).trim().split('\n') : [];
}

/**
 * Prints the slowest files, all measured figures, the failures, and then the result as the last line of the process, so that the end of a
 * log is sufficient. Makes the exit status agree with the result.
 */
export default class SummaryReporter implements Reporter {
  private result: Result = { counts: { passed: 0, failed: 1, skipped: 0 }, failures: [] };
  private readonly figures: string[] = [];
  private slow: string[] = [];

  onInit(): void {
    process.once('exit', (status) => this.finish(status));
  }

  onUserConsoleLog(log: { content: string }): void {
    this.figures.push(...log.content.split('\n').filter((line) => line.startsWith(FIGURE)));
  }

  onTestRunEnd(modules: readonly TestModule[], errors: readonly SerializedError[]): void {
    this.result = resultOf(modules, errors);
    this.slow = slowFiles(modules);
  }

  private finish(status: number): void {
    const { counts, failures } = this.result;
    if (status !== 0 && counts.failed === 0) counts.failed = 1;
    if (status === 0 && counts.failed > 0) process.exitCode = 1;
    for (const lines of [this.slow, this.figures, failures]) {
      if (lines.length > 0) process.stdout.write(`\n${lines.join('\n')}\n`);
    }
    process.stdout.write(`\n${summaryLine(counts)}\n`);
  }
}
