import type { Locator } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { chromiumProgram } from './chromium.ts';
import { type ConsoleInBrowser, startConsoleInBrowser } from './fixture.ts';
import { DEVICES, type Device, type Visit } from './visit.ts';

const PAGES = [
  { path: 'people', text: 'Who are you looking for?' },
  { path: 'people?query=ada', text: 'AdaBuilds' },
  { path: 'people/7001', text: 'This person was never banned or muted' },
  { path: 'people/920000000000000005', text: 'No game account is linked' },
  { path: 'moderation', text: 'Nobody is banned' },
  { path: 'moderation?tab=log', text: 'Nothing happened yet' },
  { path: 'moderation?tab=flagged', text: 'on the guild’s flagged list' },
  { path: 'bindings', text: 'No role has a binding yet' },
  { path: 'bindings/new', text: '1. Which role?' },
] as const;

const DEVICE_NAMES = Object.keys(DEVICES) as Device[];
const chromium = chromiumProgram();

describe.skipIf(chromium === undefined)('people, moderation and bindings in a browser', { timeout: 120_000 }, () => {
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

  const owner = async (device: Device) => {
    const visit = await system.owner(device);
    visits.push(visit);
    return visit;
  };

  describe('every page is accessible at both widths and in both themes', () => {
    it.each(PAGES)('$path', async ({ path, text }) => {
      for (const device of DEVICE_NAMES) {
        const visit = await owner(device);
        await visit.open(system.path(path));
        await visit.page.getByText(text).first().waitFor();
        await visit.loaded();
        expect({ device, faults: await visit.accessibilityFaults() }).toEqual({ device, faults: [] });
        await visit.pictures(`${path.replaceAll(/\W+/g, '-')}-${device}`);
        expect({ device, pixels: await visit.overflow() }).toEqual({ device, pixels: 0 });
        expect({ device, small: await visit.smallTargets() }).toEqual({ device, small: [] });
      }
    });
  });

  describe.each(DEVICE_NAMES)('on a %s', (device) => {
    const isPhone = device === 'phone';
    const role = isPhone ? 'Deckhand' : 'Officer';

    it('a role is bound after a preview, synced for everybody, and tested on a member', async () => {
      const { page, open } = withOpen(await owner(device));
      await open(system.path('bindings'));
      await page.getByRole('link', { name: 'Bind a role' }).first().click();
      await page.getByRole('radio', { name: role }).check();
      await page.getByLabel('Group ID').fill('501');
      await page.getByText('Group: Harbor Crew').waitFor();
      await page.getByRole('button', { name: 'Add a further condition' }).click();
      const further = page.getByRole('group', { name: 'Further condition 1' });
      await further.getByRole('radio', { name: 'Age of the account' }).check();
      await further.getByRole('radio', { name: 'Account of the chat platform' }).check();
      await further.getByRole('textbox', { name: 'Days' }).fill('1');
      await page.getByRole('button', { name: 'Preview', exact: true }).click();
      await page.getByText(`${role}.`).waitFor();
      await page.getByRole('button', { name: 'Save binding' }).click();
      await page.getByRole('button', { name: 'Sync now' }).click();
      await page.getByText(/Done: \d+ members? changed/).waitFor();
      await page.getByRole('link', { name: 'To all bindings' }).click();
      await page.getByRole('button', { name: `Test the binding of ${role}` }).click();
      await page.getByRole('searchbox').fill('ada');
      await page.getByRole('button', { name: 'Choose AdaBuilds' }).click();
      await page.getByText(`AdaBuilds matches, and should have ${role}.`).waitFor();
      await expectShown(page.getByText(`Has ${role} now.`));
      await page.keyboard.press('Escape');
      await page.getByRole('button', { name: `Remove the binding of ${role}` }).click();
      await page.getByRole('button', { name: 'Show who would lose it' }).click();
      await page.getByText(new RegExp(`loses? ${role}\\.$`)).waitFor();
      await page.getByRole('button', { name: 'Remove', exact: true }).click();
      await page.getByText('The binding was removed.').waitFor();
      await page.getByRole('button', { name: 'Undo' }).click();
      await page.getByRole('button', { name: `Remove the binding of ${role}` }).waitFor();
    });

    it('the page of a member says why they lack a role', async () => {
      await system.call('POST', '/bindings/add', {
        chat_role_id: '910000000000000002',
        binding_type: 'group_rank',
        game_group_id: 501,
        min_rank: isPhone ? 200 : 100,
        max_rank: 255,
      });
      const { page, open } = withOpen(await owner(device));
      await open(system.path('people'));
      await page.getByRole('searchbox').fill('ada');
      await page.getByRole('link', { name: /AdaBuilds/ }).click();
      const captain = page.getByRole('listitem').filter({ has: page.getByRole('heading', { name: 'Captain' }) });
      await captain.getByText('Lacks the role').waitFor();
      await expectShown(captain.getByText(/Rank 50 \(Deckhand\) in Harbor Crew is below the minimum/).first());
    });

    it('a player is banned for a week, found again by name, and the ban is lifted and comes back', async () => {
      const { page, open } = withOpen(await owner(device));
      const name = isPhone ? 'KeikoKeel' : 'HiroHauls';
      await open(system.path('moderation'));
      await page.getByRole('button', { name: 'Ban a player' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByRole('button', { name: 'Ban for 1 week' }).click();
      await dialog.getByText('Choose the player first.').waitFor();
      await dialog.getByRole('searchbox').fill(name);
      await dialog.getByRole('button', { name: `Choose ${name}` }).click();
      await dialog.getByLabel('Reason').fill('Sells stolen items');
      await dialog.getByRole('button', { name: 'Ban for 1 week' }).click();
      await page.getByText(`${name} is banned for 1 week.`).waitFor();
      await page.getByRole('button', { name: 'Player Name or ID' }).click();
      await dialog.getByRole('searchbox').fill(name);
      await dialog.getByRole('button', { name: `Choose ${name}` }).click();
      // The list has other bans until the filter is applied.
      await expect.poll(() => page.getByText('in 7 days').count()).toBe(1);
      expect(new URL(page.url()).searchParams.get('player')).toMatch(/^70/);
      await page.getByRole('button', { name: `Lift ban of ${name}` }).click();
      await page.getByText('Nothing matches the filters').waitFor();
      await page
        .getByRole('status')
        .filter({ hasText: 'was lifted' })
        .getByRole('button', { name: 'Undo' })
        .last()
        .click();
      await page.getByText('in 7 days').waitFor();
    });

    it('an import flags the players of a file, and names the lines that it leaves out', async () => {
      const { page, open } = withOpen(await owner(device));
      await open(system.path('moderation?tab=flagged'));
      await page.getByRole('button', { name: 'Import players' }).click();
      const dialog = page.getByRole('dialog');
      const content = Buffer.from('game_id,reason,category\n7010,"Sells, and steals",scammer\nada,x,y\n');
      const file = { name: 'list.csv', mimeType: 'text/csv', buffer: content };
      await dialog.getByLabel('File', { exact: true }).setInputFiles(file);
      await dialog.getByText('1 player will be flagged. 1 line is left out.').waitFor();
      await dialog.getByRole('button', { name: 'Flag 1 player' }).click();
      await dialog.getByText('1 flagged.').waitFor();
      await dialog.getByRole('button', { name: 'Close' }).last().click();
      await page.getByRole('searchbox').fill('7010');
      await page.getByRole('button', { name: 'Choose JonasJetty' }).click();
      await expectShown(page.getByText('Sells, and steals'));
    });
  });

  it('a viewer sees bans, roles and bindings, and no action on them', async () => {
    const visit = await system.person('viewer', 'desktop');
    visits.push(visit);
    const { page } = visit;
    await visit.open(system.path('people/7001'));
    await page.getByRole('heading', { name: 'Roles' }).waitFor();
    expect(await page.getByRole('button', { name: /Ban|Mute|Flag|Link|Unlink|Sync|Set nickname/ }).count()).toBe(0);
    await visit.open(system.path('bindings'));
    await page
      .getByRole('button', { name: /Test the binding/ })
      .first()
      .waitFor();
    expect(await page.getByRole('link', { name: /Bind a role|Edit/ }).count()).toBe(0);
    expect(await page.getByRole('button', { name: /Remove|Sync/ }).count()).toBe(0);
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
