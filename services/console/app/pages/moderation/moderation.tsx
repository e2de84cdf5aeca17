import { useState } from 'preact/hooks';
import { Button } from '../../components/button.tsx';
import { Card } from '../../components/states.tsx';
import { Tabs } from '../../components/tabs.tsx';
import { useFilters } from '../../shell/filters.ts';
import { useGuild } from '../../shell/guild.tsx';
import { Page } from '../../shell/page.tsx';
import { punishTexts, moderationTexts as texts } from '../../texts.ts';
import { ActiveList, useActive } from './active-list.tsx';
import { FilterBar } from './filter-bar.tsx';
import { FILTERS, type Filters, TABS, type TabName, tabOf } from './filters.ts';
import { Flagged } from './flagged.tsx';
import { Log, useLog } from './log.tsx';
import { PunishDialog } from './punish-dialog.tsx';
import type { PunishmentKind } from './punishments.ts';

/** Active bans and mutes, the log, and the flagged list. */
export function ModerationPage() {
  const guild = useGuild();
  const [filters, change] = useFilters(FILTERS);
  const [dialog, setDialog] = useState<PunishmentKind>();
  // Counts the bans and mutes that were made here, so that the list below shows them.
  const [changes, setChanges] = useState(0);
  const tab = tabOf(filters);
  return (
    <Page
      title={texts.title}
      description={texts.description}
      actions={
        guild.hasScope('moderation:write') && (
          <>
            <Button kind="primary" icon="moderation" onClick={() => setDialog('ban')}>
              {punishTexts.ban.title}
            </Button>
            <Button onClick={() => setDialog('mute')}>{punishTexts.mute.title}</Button>
          </>
        )
      }
    >
      <div>
        <Tabs
          label={texts.views}
          tabs={TABS.map((name) => ({ name, label: texts.tabs[name] }))}
          value={tab}
          onChange={(name: TabName) => change({ tab: name === 'bans' ? '' : name })}
        >
          {tab === 'flagged' ? (
            <Flagged />
          ) : (
            <div class="stack">
              <FilterBar tab={tab} filters={filters} change={change} />
              <Card isFlush>
                <List key={`${tab} ${changes}`} tab={tab} filters={filters} />
              </Card>
            </div>
          )}
        </Tabs>
      </div>
      {dialog && (
        <PunishDialog
          kind={dialog}
          onClose={() => setDialog(undefined)}
          onChange={() => setChanges((number) => number + 1)}
        />
      )}
    </Page>
  );
}

function List({ tab, filters }: { tab: Exclude<TabName, 'flagged'>; filters: Filters }) {
  if (tab === 'log') return <LogList filters={filters} />;
  return <PunishmentList kind={tab === 'bans' ? 'ban' : 'mute'} filters={filters} />;
}

function PunishmentList({ kind, filters }: { kind: PunishmentKind; filters: Filters }) {
  return <ActiveList kind={kind} filters={filters} list={useActive(kind, filters)} />;
}

function LogList({ filters }: { filters: Filters }) {
  return <Log filters={filters} list={useLog(filters)} />;
}
