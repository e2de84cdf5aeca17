import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import axe from 'axe-core';
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';
import { vi } from 'vitest';
import { PATIENCE } from '../patience.ts';

/** The windows in which the console is tested. */
export const DEVICES = {
  desktop: { viewport: { width: 1280, height: 860 } },
  phone: { viewport: { width: 390, height: 844 }, isMobile: true, hasTouch: true },
} as const satisfies Record<string, BrowserContextOptions>;
export type Device = keyof typeof DEVICES;

const THEMES = ['light', 'dark'] as const;
/** The rules of axe that depend on colours. */
const COLOUR_RULES = ['color-contrast', 'link-in-text-block'];
/** Waits until the page has been painted: under load a new theme reaches its elements later than the page's root. */
const NEXT_FRAME = 'new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))';

const TIMEOUT_MS = 20_000;
const SCREENSHOTS = join(import.meta.dirname, '../../services/console/screenshots');

// As text, because the types of the DOM are those of the app only.
const SMALL_TARGETS = `
  [...document.querySelectorAll('button, select, summary, textarea, nav a, input:not([type=radio], [type=checkbox])')]
    .filter((element) => element.checkVisibility({ visibilityProperty: true }) && element.getBoundingClientRect().height < 40)
    .map((element) => element.outerHTML.slice(0, 120))`;

const IS_LOADED = `!document.querySelector('.skeleton, [aria-busy=true]')`;

/** A window with its own cookies, which notes everything that a browser reports as wrong. */
export class Visit {
  readonly page: Page;
  readonly origin: string;
  /** Errors of scripts, violations of the content security policy, and requests to other hosts. */
  readonly faults: string[] = [];
  readonly #context: BrowserContext;

  constructor(context: BrowserContext, page: Page, origin: string) {
    this.#context = context;
    this.page = page;
    this.origin = origin;
    page.on('pageerror', (error) => this.faults.push(`error: ${error.message}`));
    page.on('console', (message) => {
      // A response with an error status is reported here too; the page shows it, and the test expects it there.
      const isStatus = message.text().startsWith('Failed to load resource');
      if (message.type() === 'error' && !isStatus) this.faults.push(message.text());
    });
    page.on('request', (request) => {
      const url = request.url();
      if (!url.startsWith(`${origin}/`) && !url.startsWith('data:')) this.faults.push(`request to ${url}`);
    });
  }

  async open(path: string): Promise<void> {
    await this.page.goto(this.origin + path);
  }

  /** Waits until nothing on the page is being loaded. */
  loaded(): Promise<boolean> {
    // Not `waitForFunction`: it evaluates text in the page, which the content security policy forbids.
    return vi.waitUntil(() => this.page.evaluate<boolean>(IS_LOADED), PATIENCE);
  }

  close(): Promise<void> {
    return this.#context.close();
  }

  /** The cookies, with which another window is signed in too. */
  signedIn(): Promise<Awaited<ReturnType<BrowserContext['storageState']>>> {
    return this.#context.storageState();
  }

  /** What axe finds in all themes that is serious or critical, as `theme, rule: elements`. */
  async accessibilityFaults(): Promise<string[]> {
    const faults: string[] = [];
    for (const [index, theme] of THEMES.entries()) {
      await this.page.emulateMedia({ colorScheme: theme });
      await this.page.evaluate(NEXT_FRAME);
      // Themes differ only in colours.
      const found = await this.#axeFaults(index === 0 ? undefined : COLOUR_RULES);
      faults.push(...found.map((fault) => `${theme}, ${fault}`));
    }
    return faults;
  }

  async #axeFaults(rules?: string[]): Promise<string[]> {
    // The protocol of the browser runs it, which no content security policy concerns.
    await this.page.evaluate(`globalThis.axe ?? (() => { ${axe.source} })()`);
    const options = JSON.stringify({ resultTypes: ['violations'], ...(rules && { runOnly: rules }) });
    const results = (await this.page.evaluate(`axe.run(document, ${options})`)) as axe.AxeResults;
    return results.violations
      .filter(({ impact }) => impact === 'serious' || impact === 'critical')
      .map(
        ({ id, nodes }) =>
          `${id}: ${nodes.map(({ target, failureSummary }) => `${target.join(' ')} (${failureSummary ?? ''})`).join(', ')}`,
      );
  }

  /** Elements that a finger cannot hit well: buttons and fields that are lower than 40 px. */
  smallTargets(): Promise<string[]> {
    return this.page.evaluate(SMALL_TARGETS);
  }

  /** The number of pixels by which the page is wider than the window. */
  overflow(): Promise<number> {
    return this.page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth');
  }

  /** Writes a picture of the whole page in each theme, if SCREENSHOTS=1. */
  async pictures(name: string): Promise<void> {
    if (process.env['SCREENSHOTS'] !== '1') return;
    await mkdir(SCREENSHOTS, { recursive: true });
    for (const theme of THEMES) {
      await this.page.emulateMedia({ colorScheme: theme });
      await this.page.screenshot({ path: join(SCREENSHOTS, `${name}-${theme}.png`), fullPage: true });
    }
  }
}

/** Opens a window; with the cookies of another one if they are given. */
export async function visit(
  browser: Browser,
  origin: string,
  device: Device,
  storageState?: Awaited<ReturnType<BrowserContext['storageState']>>,
): Promise<Visit> {
  const context = await browser.newContext({
    ...DEVICES[device],
    ...(storageState && { storageState }),
    reducedMotion: 'reduce',
  });
  context.setDefaultTimeout(TIMEOUT_MS);
  return new Visit(context, await context.newPage(), origin);
}
