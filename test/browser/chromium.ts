import { type Browser, chromium } from 'playwright-core';
import { findProgram } from '#local/child.ts';
import { installOnDebian } from '../debian.ts';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome'];
const ARGUMENTS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

const installed = () => NAMES.map((name) => findProgram(name)).find((path) => path !== undefined);

/** The path of a Chromium. On Debian, root installs it if it is missing; undefined if there is none. */
export function chromiumProgram(): string | undefined {
  const found = installed();
  if (found !== undefined) return found;
  installOnDebian('chromium');
  const program = installed();
  if (program === undefined) console.error('NOT CHECKED: the console in a browser, because chromium is not installed');
  return program;
}

/** Starts a browser without a window. */
export function startChromium(executablePath: string): Promise<Browser> {
  return chromium.launch({ executablePath, args: ARGUMENTS });
}
