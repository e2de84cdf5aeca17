import { Tabs } from '../../components/tabs.tsx';
import { useFilters } from '../../shell/filters.ts';
import { Page } from '../../shell/page.tsx';
import { staffTexts as texts } from '../../texts.ts';
import { ActionsView } from './actions.tsx';
import { HoursView } from './hours.tsx';
import { PermissionsView } from './permissions.tsx';
import { SessionsView } from './sessions.tsx';

const VIEWS = { hours: HoursView, sessions: SessionsView, actions: ActionsView, permissions: PermissionsView };
type View = keyof typeof VIEWS;
const NAMES = Object.keys(VIEWS) as View[];

/** What staff did in the game. */
export function StaffPage() {
  const [{ view }, setFilters] = useFilters(['view', 'person', 'type', 'state']);
  const current = NAMES.find((name) => name === view) ?? 'hours';
  const Current = VIEWS[current];
  return (
    <Page title={texts.title} description={texts.description}>
      <Tabs
        label={texts.views}
        tabs={NAMES.map((name) => ({ name, label: texts.tabs[name] }))}
        value={current}
        onChange={(next) => setFilters({ view: next, type: '', state: '' })}
      >
        <Current />
      </Tabs>
    </Page>
  );
}
