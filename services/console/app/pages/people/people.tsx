import type { FoundPerson } from '#clients/typescript/src/operations-types.ts';
import { Icon } from '../../components/icon.tsx';
import { SearchBox } from '../../components/search.tsx';
import { Card, EmptyState, ErrorNote, Note, Skeleton } from '../../components/states.tsx';
import { useFilters } from '../../shell/filters.ts';
import { useGuild } from '../../shell/guild.tsx';
import { Page } from '../../shell/page.tsx';
import { peopleTexts as texts } from '../../texts.ts';
import { candidates, idOfPerson } from './accounts.ts';
import { PersonSummary } from './person-summary.tsx';
import { usePeople } from './use-people.ts';

/** One search box for a chat ID, a game ID or a name. */
export function PeoplePage() {
  const [{ query }, change] = useFilters(['query']);
  return (
    <Page title={texts.title} description={texts.description}>
      <SearchBox
        label={texts.search}
        placeholder={texts.placeholder}
        value={query}
        onChange={(text) => change({ query: text })}
      />
      <Card isFlush>
        <Results query={query} />
      </Card>
    </Page>
  );
}

function Results({ query }: { query: string }) {
  const { data, error, isLoading, reload } = usePeople(query);
  if (query === '') {
    return (
      <EmptyState icon="people" title={texts.emptyTitle}>
        {texts.empty}
      </EmptyState>
    );
  }
  if (isLoading && !data?.people.length) return <Skeleton rows={3} />;
  const found = candidates(query, data?.people ?? []);
  if (found.length === 0) {
    if (error) return <ErrorNote error={error} onRetry={reload} />;
    return (
      <EmptyState icon="search" title={texts.nobodyTitle}>
        {texts.nobody(query)}
      </EmptyState>
    );
  }
  return (
    <>
      {(error || (data?.incomplete.length ?? 0) > 0) && <Note kind="warn">{texts.incomplete}</Note>}
      <ul class={isLoading ? 'rows is-reloading' : 'rows'} aria-label={texts.results}>
        {found.map((person) => (
          <Result key={idOfPerson(person)} person={person} />
        ))}
      </ul>
    </>
  );
}

function Result({ person }: { person: FoundPerson }) {
  const guild = useGuild();
  return (
    <li>
      <a class="row row-link" href={guild.path(`people/${idOfPerson(person)}`)}>
        <PersonSummary person={person} />
        <Icon name="arrow" size={18} />
      </a>
    </li>
  );
}
