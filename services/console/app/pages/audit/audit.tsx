import { Tabs } from '../../components/tabs.tsx';
import { useFilters } from '../../shell/filters.ts';
import { Page } from '../../shell/page.tsx';
import { auditTexts as texts } from '../../texts.ts';
import { AuditList } from './audit-list.tsx';
import { PersonData } from './person-data.tsx';

/** Who changed what, and the data of a person. */
export function AuditPage() {
  const [{ view }, setFilters] = useFilters(['view']);
  const current = view === 'data' ? 'data' : 'audit';
  return (
    <Page title={texts.title} description={texts.description}>
      <Tabs
        label={texts.views}
        tabs={(['audit', 'data'] as const).map((name) => ({ name, label: texts.tabs[name] }))}
        value={current}
        onChange={(next) => setFilters({ view: next })}
      >
        {current === 'audit' ? <AuditList /> : <PersonData />}
      </Tabs>
    </Page>
  );
}
