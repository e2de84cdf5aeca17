// Runs a command with the packages of this repository: `node deploy/local/install.mjs COMMAND ARGUMENT…`. Installs them
// first if they are missing, incomplete, or of another package-lock.json. Plain JavaScript, because it runs on the
// machine's own Node, 20 or newer; the command itself runs on the pinned one.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { constants, tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const OLDEST_NODE = 24;
const FORWARDED = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'];

/** Secrets of `npm run release`, which the install scripts of packages must not receive. */
const SECRETS = ['RELEASE_KEY_PASSPHRASE', 'RELEASE_PASSWORD'];

const repository = fileURLToPath(new URL('../..', import.meta.url));
const modules = join(repository, 'node_modules');
const programs = join(modules, '.bin');
const stamp = join(modules, '.complete');

/** Identifies a complete installation: the lockfile and the platform of its binaries. */
function expectedStamp() {
  const lock = createHash('sha256')
    .update(readFileSync(join(repository, 'package-lock.json')))
    .digest('hex');
  return `${lock} ${process.platform}-${process.arch}\n`;
}

function isInstalled() {
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === expectedStamp();
}

/** PATH without our own programs, so that `npm ci` does not run on the Node that it replaces. */
function machinePath() {
  return (process.env.PATH ?? '')
    .split(delimiter)
    .filter((folder) => folder !== programs)
    .join(delimiter);
}

/** The environment of npm, which passes it on to install scripts. */
function installEnvironment() {
  const environment = { ...process.env, PATH: machinePath() };
  for (const name of SECRETS) delete environment[name];
  return environment;
}

/** Installs unless another process does so meanwhile, for which it waits. */
async function install() {
  const lock = await claimInstallation();
  if (!isInstalled()) await installNow();
  lock.close();
}

async function installNow() {
  const expected = expectedStamp();
  rmSync(stamp, { force: true });
  console.error('Installing packages into node_modules; this happens once and takes up to a minute …');
  const begun = Date.now();
  const seconds = () => Math.round((Date.now() - begun) / 1000);
  const progress = setInterval(() => console.error(`… still installing (${seconds()} s)`), 10_000);
  // Ends npm with this process where possible: a remaining npm would write at the same time as the next one.
  const tie = existsSync('/usr/bin/setpriv') ? ['/usr/bin/setpriv', '--pdeathsig', 'KILL', '--'] : [];
  // Hides warnings about packages that are too new for the machine's Node, because they run on the pinned one.
  const [program, ...parameters] = [...tie, 'npm', 'ci', '--no-audit', '--no-fund', '--loglevel=error'];
  // npm prints to standard error, because standard output belongs to the command.
  const child = spawn(program, parameters, {
    cwd: repository,
    env: installEnvironment(),
    stdio: ['ignore', 2, 2],
  });
  const result = await ended(child);
  clearInterval(progress);
  if (result.signal !== null) endLike(result);
  if (result.code !== 0) fail(`npm ci failed (exit status ${result.code})`);
  writeFileSync(stamp, expected);
  console.error(`Packages installed (${seconds()} s)`);
}

/**
 * Waits until no other process installs packages in this checkout. A socket name serves as the lock, because the system
 * releases it even if its holder is killed.
 */
async function claimInstallation() {
  const name = `guild-data-install-${createHash('sha256').update(repository).digest('hex').slice(0, 32)}`;
  const path = process.platform === 'linux' ? `\0${name}` : join(tmpdir(), `${name}.sock`);
  for (let waited = false; ; waited = true) {
    const server = createServer().unref();
    const claimed = new Promise((resolve) =>
      server.once('listening', () => resolve(true)).once('error', () => resolve(false)),
    );
    server.listen(path);
    if (await claimed) return server;
    if (!waited) console.error('Another process is installing the packages of this checkout, waiting for it …');
    await pause(200);
  }
}

/** Where there is no package of the pinned Node for this platform, the machine's own Node must be new enough. */
function checkNode() {
  if (existsSync(join(programs, 'node'))) return;
  const { stdout } = spawnSync('node', ['--version'], { encoding: 'utf8' });
  const version = stdout?.trim() || 'none';
  if (Number(/^v(\d+)\./.exec(version)?.[1] ?? 0) >= OLDEST_NODE) return;
  fail(
    `There is no packaged Node for ${process.platform}-${process.arch}, and Node ${OLDEST_NODE} or newer is needed ` +
      `(found: ${version}). Install it from https://nodejs.org/ and run this again.`,
  );
}

/** Runs the command, forwards signals to it and ends as it ended. */
async function run([program, ...parameters]) {
  const path = `${programs}${delimiter}${process.env.PATH ?? ''}`;
  const child = spawn(program, parameters, { stdio: 'inherit', env: { ...process.env, PATH: path } });
  endLike(await ended(child));
}

/** Waits for a process to end. Signals are forwarded to it and do not end this process. */
function ended(child) {
  return new Promise((resolve) => {
    const handlers = FORWARDED.map((signal) => ({ signal, handler: () => child.kill(signal) }));
    for (const { signal, handler } of handlers) process.on(signal, handler);
    const settle = (result) => {
      for (const { signal, handler } of handlers) process.removeListener(signal, handler);
      resolve(result);
    };
    child.once('error', (error) => {
      console.error(error.message);
      settle({ code: error.code === 'ENOENT' ? 127 : 126, signal: null });
    });
    child.once('exit', (code, signal) => settle({ code, signal }));
  });
}

/** Ends this process as the other one ended: with its exit status, or by its signal. */
function endLike({ code, signal }) {
  if (signal === null) process.exit(code);
  process.kill(process.pid, signal);
  // The signal did not end this process: uses the exit status that a shell would use.
  process.exitCode = 128 + constants.signals[signal];
}

function fail(message) {
  console.error(message);
  process.exit(1);
}

const command = process.argv.slice(2);
if (command.length === 0) fail('usage: node deploy/local/install.mjs COMMAND ARGUMENT…');
if (!isInstalled()) await install();
checkNode();
await run(command);
