// `npm run check`: format, lint and types at the same time. Prints the output of each as it ends.
import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';

const SCRIPTS = ['format:check', 'lint', 'types'];

async function run(script: string): Promise<boolean> {
  const begun = performance.now();
  const child = spawn('npm', ['run', '--silent', script], { stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('close', resolve).once('error', reject);
  });
  const [output, errors, status] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  process.stdout.write(output + errors);
  const seconds = ((performance.now() - begun) / 1000).toFixed(1);
  console.log(`${script}: ${status === 0 ? 'ok' : 'FAILED'} after ${seconds} s`);
  return status === 0;
}

const results = await Promise.all(SCRIPTS.map(run));
process.exitCode = results.every(Boolean) ? 0 : 1;
