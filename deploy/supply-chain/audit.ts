import { spawnSync } from 'node:child_process';
import { z } from 'zod';

const PATIENCE_MS = 60_000;
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;
/** Severities that fail the check. */
const SERIOUS = ['moderate', 'high', 'critical'];

const reportShape = z.object({
  auditReportVersion: z.literal(2),
  vulnerabilities: z.record(
    z.string(),
    z.object({
      severity: z.string(),
      range: z.string(),
      via: z.array(z.union([z.string(), z.object({ title: z.string(), url: z.string() })])),
    }),
  ),
  metadata: z.object({ dependencies: z.object({ total: z.number() }) }),
});

export type Verdict = { result: 'clean' | 'vulnerable' | 'not checked'; lines: string[] };

/** Evaluates npm's report. Anything that is not a report, such as an error of the registry, is `not checked`. */
export function judge(text: string): Verdict {
  const parsed = reportShape.safeParse(parse(text));
  if (!parsed.success) return { result: 'not checked', lines: [reasonOf(text)] };
  const { vulnerabilities, metadata } = parsed.data;
  const serious = Object.entries(vulnerabilities).filter(([, { severity }]) => SERIOUS.includes(severity));
  const lines = serious.flatMap(([name, { severity, range, via }]) => [
    `${severity}: ${name} ${range}`,
    ...via.map((each) => (typeof each === 'string' ? `  by ${each}` : `  ${each.title} (${each.url})`)),
  ]);
  if (serious.length > 0) return { result: 'vulnerable', lines };
  return { result: 'clean', lines: [`${metadata.dependencies.total} packages, none with a known vulnerability`] };
}

/** Returns the reason for a failure, without the response of the registry, which may contain its name. */
function reasonOf(text: string): string {
  const { data } = z.object({ statusCode: z.number() }).safeParse(parse(text));
  return data ? `the registry answered ${data.statusCode}` : 'the registry did not return a report';
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

if (import.meta.main) {
  const command = ['audit', '--omit=dev', '--json', '--fetch-retries=1', '--fetch-timeout=20000'];
  const { stdout } = spawnSync('npm', command, { encoding: 'utf8', timeout: PATIENCE_MS, maxBuffer: MAX_OUTPUT_BYTES });
  const { result, lines } = judge(stdout ?? '');
  for (const line of lines) console.log(result === 'not checked' ? `NOT CHECKED: ${line}` : line);
  process.exitCode = result === 'vulnerable' ? 1 : 0;
}
