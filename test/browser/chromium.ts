import { type Browser, chromium } from 'playwright-core';
import { findProgram } from '#local/child.ts';
import { installOnDebian } from '../debian.ts';

/** Debian's Chromium without windows: the same engine, which takes half the CPU of the whole browser. */
const WITHOUT_WINDOWS = 'chromium-headless-shell';
const NAMES = [WITHOUT_WINDOWS, 'chromium', 'chromium-browser', 'google-chrome'];
const ARGUMENTS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** The path of a Chromium. On Debian, root installs the one without windows; undefined if there is none. */
export function chromiumProgram(): string | undefined {
  if (!findProgram(WITHOUT_WINDOWS)) installOnDebian(WITHOUT_WINDOWS);
  const program = NAMES.map((name) => findProgram(name)).find((path) => path !== undefined);
  if (program === undefined)
    console.error('NOT CHECKED: the browser tests of the console, because Chromium is not installed');
  return program;
}

/** Starts a browser without a window. */
export function startChromium(executablePath: string): Promise<Browser> {
  return chromium.launch({ executablePath, args: ARGUMENTS });
}
