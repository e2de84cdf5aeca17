import type { Locator } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { PATIENCE } from '../patience.ts';
import { chromiumProgram } from './chromium.ts';
import { type ConsoleInBrowser, HTML_NAME, SERVERS, startConsoleInBrowser } from './fixture.ts';
import { DEVICES, type Device, type Visit } from './visit.ts';

const PAGES = [
  { path: 'overview', heading: 'Overview' },
  { path: 'live', heading: 'Live' },
  { path: 'commands', heading: 'Commands' },
  { path: 'staff', heading: 'Staff' },
  { path: 'staff?view=sessions', heading: 'Staff' },
  { path: 'access', heading: 'Access' },
  { path: 'keys', heading: 'API keys' },
  { path: 'webhooks', heading: 'Webhooks' },
  { path: 'audit', heading: 'Audit' },
] as const;

const DEVICE_NAMES = Object.keys(DEVICES) as Device[];
const chromium = chromiumProgram();

describe.skipIf(chromium === undefined)('the console in a browser', { timeout: 120_000 }, () => {
  let system: ConsoleInBrowser;
  const visits: Visit[] = [];

  beforeAll(async () => {
    system = await startConsoleInBrowser(chromium ?? '');
  }, 120_000);
  afterAll(() => system.stop());
  afterEach(async () => {
    const faults = visits.flatMap((visit) => visit.faults);
    await Promise.all(visits.splice(0).map((visit) => visit.close()));
    expectNone(faults);
  });

  const opened = (visit: Visit) => {
    visits.push(visit);
    return visit;
  };
  const owner = async (device: Device) => opened(await system.owner(device));
  const stranger = async (device: Device) => opened(await system.stranger(device));

  it('a one-time link signs in once; the second time the page says why it does not', async () => {
    const link = await system.link('viewer');
    const first = await stranger('phone');
    await first.open(link);
    await first.page.getByRole('button', { name: 'Sign in' }).click();
    await first.page.getByRole('heading', { name: 'Overview' }).waitFor();
    const second = await stranger('desktop');
    await second.open(link);
    await second.page.getByRole('button', { name: 'Sign in' }).click();
    await expectShown(second.page.getByText('This link was used already'));
  });

  it('a person without a session signs in first and comes back to the page', async () => {
    const { page, open } = withOpen(await stranger('desktop'));
    await open(system.path('staff?view=actions'));
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    expect(new URL(page.url()).searchParams.get('return_to')).toBe(system.path('staff?view=actions'));
    const chat = page.getByRole('link', { name: /Continue with/ }).first();
    expect(await chat.getAttribute('href')).toContain(encodeURIComponent(system.path('staff?view=actions')));
  });

  it('return_to of another host leads to the start of the console', async () => {
    const { page, open } = withOpen(await owner('desktop'));
    await open('/sign-in?return_to=//example.com/x');
    await page.getByRole('heading', { name: 'Overview' }).waitFor();
    expect(new URL(page.url()).origin).toBe(system.origin);
  });

  it('a viewer sees no actions that only others may do', async () => {
    const { page, open } = withOpen(opened(await system.person('viewer', 'desktop')));
    await open(system.path('access'));
    await page.getByRole('heading', { name: 'Access' }).waitFor();
    expect(await page.getByRole('button', { name: 'Invite a person' }).count()).toBe(0);
    await open(system.path('commands'));
    await page.getByRole('heading', { name: 'Sent commands' }).waitFor();
    expect(await page.getByRole('button', { name: 'Send' }).count()).toBe(0);
  });

  describe.each(DEVICE_NAMES)('on a %s', (device) => {
    // A server that sends no heartbeat is not live for long.
    beforeEach(() => system.reportServers());

    it('the overview says what to do next and counts what there is', async () => {
      const { page, open } = withOpen(await owner(device));
      await open(system.path('overview'));
      await page.getByText(/thing(?:s need| needs) your attention|Everything is set up/).waitFor();
      await vi.waitFor(async () => {
        expect(await page.getByRole('link', { name: /Live servers/ }).textContent()).toMatch(/^2/);
      }, PATIENCE);
    });

    it('the live page shows servers, and an event within a second', async () => {
      const { page, open } = withOpen(await owner(device));
      await open(system.path('live'));
      await page.getByText('Server harbor-1', { exact: true }).waitFor();
      await page.getByText('Connected', { exact: true }).waitFor();
      const reason = `Loud on ${device}`;
      await system.call('POST', '/moderation/900000000000000001/game/ban', {
        game_id: device === 'phone' ? 7005 : 7004,
        reason,
        duration: '1h',
      });
      const begun = performance.now();
      await page.getByText(`was banned: ${reason}`).waitFor();
      // A second is the guarantee; the rest is for a machine that runs other tests at the same time.
      expect(performance.now() - begun).toBeLessThan(3_000);
    });

    it('a message to all servers is sent, and the page shows what each server answers', async () => {
      const { page, open } = withOpen(await owner(device));
      await open(system.path('commands'));
      const text = `The harbor closes, ${device}`;
      await page.getByLabel('Message', { exact: true }).fill(text);
      await page.getByRole('button', { name: 'Send' }).click();
      await page.getByText('Sent to 2 servers.').waitFor();
      await page.getByText(text).first().waitFor();
      const { commands } = await system.heartbeat(SERVERS[0]);
      const acks = commands.map(({ command_id }) => ({ command_id, status: 'success', result: { shown: 1 } }));
      await system.heartbeat(SERVERS[0], 0, acks);
      await expectShown(page.getByText('{"shown":1}').first());
    });

    it('staff: hours as a chart, and sessions with the names as text', async () => {
      const { page, open } = withOpen(await owner(device));
      await open(system.path('staff'));
      await page.getByRole('img', { name: /Hours of/ }).waitFor();
      await page.getByRole('tab', { name: 'Sessions' }).click();
      await page.getByText(HTML_NAME).waitFor();
      expect(await page.locator('main img').count()).toBe(0);
      await page.getByRole('tab', { name: 'Actions' }).click();
      await page.getByText('warned').waitFor();
      await page.goBack();
    });

    it('access: a person is invited, removed, and the removal is undone', async () => {
      const { page, open } = withOpen(await owner(device));
      await open(system.path('access'));
      await page.getByRole('button', { name: 'Invite a person' }).first().click();
      const dialog = page.getByRole('dialog');
      await dialog.getByRole('button', { name: 'Invite a person' }).click();
      await dialog.getByText('Enter the number of the account').waitFor();
      await dialog.getByLabel('ID of the chat account').fill('920000000000000002');
      await dialog.getByRole('button', { name: 'Invite a person' }).click();
      const row = page.getByRole('listitem').filter({ hasText: 'bruno' });
      await row.getByRole('button', { name: 'Remove access' }).click();
      await dialog.getByText('loses the role Moderator').waitFor();
      await dialog.getByRole('button', { name: 'Remove access' }).click();
      await expectShown(page.getByText('Nobody was invited yet'));
      await page.getByRole('button', { name: 'Undo' }).click();
      await row.waitFor();
      await row.getByRole('button', { name: 'Remove access' }).click();
      await dialog.getByRole('button', { name: 'Remove access' }).click();
      await expectShown(page.getByText('Nobody was invited yet'));
    });

    it('the account lists the sessions, and signing out ends the one of this browser', async () => {
      const { page, open } = withOpen(opened(await system.person('viewer', device)));
      await open('/account');
      await page.getByText('This browser').waitFor();
      await page.getByRole('button', { name: 'Sign out', exact: true }).first().click();
      await expectShown(page.getByRole('heading', { name: 'Sign in' }));
    });
  });

  it('the navigation opens on a phone, moves the focus to the page, and closes with Escape', async () => {
    const { page, open } = withOpen(await owner('phone'));
    await open(system.path('overview'));
    await page.getByRole('button', { name: 'Open menu' }).click();
    await page.getByRole('link', { name: 'Staff', exact: true }).click();
    await page.getByRole('heading', { name: 'Staff', level: 1 }).waitFor();
    expect(await page.evaluate('document.activeElement.textContent')).toBe('Staff');
    expect(await page.title()).toContain('Staff');
    await page.getByRole('button', { name: 'Open menu' }).click();
    await page.getByRole('button', { name: 'Close menu' }).waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Open menu' }).waitFor();
  });

  describe('every page is accessible at both widths and in both themes', () => {
    const paths = PAGES.map(({ path, heading }) => ({ path, heading, address: () => system.path(path) }));
    it.each([...paths, { path: 'account', heading: 'Sign out', address: () => '/account' }])('$path', async (entry) => {
      for (const device of DEVICE_NAMES) {
        const visit = await owner(device);
        await visit.open(entry.address());
        await visit.page.locator('main').getByText(entry.heading).first().waitFor();
        await visit.loaded();
        expect({ device, faults: await visit.accessibilityFaults() }).toEqual({ device, faults: [] });
        await visit.pictures(`${entry.path.replaceAll(/\W+/g, '-')}-${device}`);
        expect({ device, pixels: await visit.overflow() }).toEqual({ device, pixels: 0 });
        expect({ device, small: await visit.smallTargets() }).toEqual({ device, small: [] });
      }
    });
  });
});

function withOpen(visit: Visit) {
  return { page: visit.page, open: (path: string) => visit.open(path) };
}

/** No error of a script, no violation of the content security policy, and no request to another host. */
function expectNone(faults: readonly string[]): void {
  expect(faults).toEqual([]);
}

/** Waits until the page shows an element. */
const expectShown = (element: Locator): Promise<void> => element.waitFor();
