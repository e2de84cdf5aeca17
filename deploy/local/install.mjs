// Runs a command with the packages of this repository: `node deploy/local/install.mjs COMMAND ARGUMENT…`. Installs
// them first when they are missing, belong to another package-lock.json, or were not installed to the end. Plain
// JavaScript for the Node that the machine has, 20 or newer; the command itself gets the pinned one.
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

const repository = fileURLToPath(new URL('../..', import.meta.url));
const modules = join(repository, 'node_modules');
const programs = join(modules, '.bin');
const stamp = join(modules, '.complete');

/** What a finished installation is known by: the lockfile, and the machine that its binaries are for. */
function expectedStamp() {
  const lock = createHash('sha256')
    .update(readFileSync(join(repository, 'package-lock.json')))
    .digest('hex');
  return `${lock} ${process.platform}-${process.arch}\n`;
}

function isInstalled() {
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === expectedStamp();
}

/** PATH without our own programs, so that `npm ci` does not run on the Node it is about to replace. */
function machinePath() {
  return (process.env.PATH ?? '')
    .split(delimiter)
    .filter((folder) => folder !== programs)
    .join(delimiter);
}

/** One installation at a time: whoever comes second waits and then finds it done. */
async function install() {
  const lock = await claimInstallation();
  if (!isInstalled()) await installNow();
  lock.close();
}

async function installNow() {
  const expected = expectedStamp();
  rmSync(stamp, { force: true });
  console.error('Installing packages into node_modules; this is needed once and takes up to a minute …');
  const begun = Date.now();
  const seconds = () => Math.round((Date.now() - begun) / 1000);
  const progress = setInterval(() => console.error(`… still installing (${seconds()} s)`), 10_000);
  // Tied to this process where that is possible: an npm that outlives us would write beside the next one.
  const tie = existsSync('/usr/bin/setpriv') ? ['/usr/bin/setpriv', '--pdeathsig', 'KILL', '--'] : [];
  // npm would warn of packages that are too new for the machine's Node; they run on the pinned one.
  const [program, ...parameters] = [...tie, 'npm', 'ci', '--no-audit', '--no-fund', '--loglevel=error'];
  // What npm says goes to standard error: standard output is the command's.
  const child = spawn(program, parameters, {
    cwd: repository,
    env: { ...process.env, PATH: machinePath() },
    stdio: ['ignore', 2, 2],
  });
  const result = await ended(child);
  clearInterval(progress);
  if (result.signal !== null) endLike(result);
  if (result.code !== 0) fail(`npm ci failed (exit status ${result.code})`);
  writeFileSync(stamp, expected);
  console.error(`Packages installed (${seconds()} s)`);
}

/** Waits for other installations of this checkout to end. A socket name is free again however its holder ends. */
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
    if (!waited) console.error('Another installation of this checkout is under way, waiting for it …');
    await pause(200);
  }
}

/** The pinned Node is a package, which not every platform has; elsewhere the machine's own must be new enough. */
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

/** Runs the command in our place: its signals, its output, its way of ending. */
async function run([program, ...parameters]) {
  const path = `${programs}${delimiter}${process.env.PATH ?? ''}`;
  const child = spawn(program, parameters, { stdio: 'inherit', env: { ...process.env, PATH: path } });
  endLike(await ended(child));
}

/** Waits for a process. Signals are handed to it, and never end this process before it. */
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

/** Ends this process as the other one ended: with its status, or by its signal. */
function endLike({ code, signal }) {
  if (signal === null) process.exit(code);
  process.kill(process.pid, signal);
  // A signal that does not end us, such as one that is ignored: the shell's way of telling.
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
