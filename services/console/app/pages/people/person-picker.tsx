import { useState } from 'preact/hooks';
import type { FoundPerson } from '#clients/typescript/src/operations-types.ts';
import { Button } from '../../components/button.tsx';
import { ErrorNote } from '../../components/states.tsx';
import { peopleTexts as texts } from '../../texts.ts';
import { candidates, nameOfPerson } from './accounts.ts';
import { PersonSummary } from './person-summary.tsx';
import { SearchField } from './search-field.tsx';
import { usePeople } from './use-people.ts';

export interface PersonPickerProps {
  label: string;
  hint?: string;
  /** What is wrong with the choice. */
  error?: string | undefined;
  value: FoundPerson | undefined;
  onChange: (person: FoundPerson | undefined) => void;
  /** The account that the person must have to be chosen. */
  needs: 'game' | 'chat';
}

/** A choice of one person by name or ID. */
export function PersonPicker({ label, hint, error, value, onChange, needs }: PersonPickerProps) {
  return (
    <fieldset class="field person-picker">
      <legend>{label}</legend>
      {value ? (
        <div class="picked">
          <PersonSummary person={value} />
          <Button onClick={() => onChange(undefined)}>{texts.other}</Button>
        </div>
      ) : (
        <Choice label={label} hint={hint} needs={needs} onChange={onChange} />
      )}
      {error && !value && (
        <p class="field-error" role="alert">
          {error}
        </p>
      )}
    </fieldset>
  );
}

function Choice(props: Pick<PersonPickerProps, 'label' | 'needs' | 'onChange'> & { hint: string | undefined }) {
  const { label, hint, needs, onChange } = props;
  const [query, setQuery] = useState('');
  const { data, error, isLoading, reload } = usePeople(query);
  const found = isLoading && !data ? [] : candidates(query, data?.people ?? []);
  const isSearched = query !== '' && !isLoading;
  return (
    <>
      {hint && <p class="hint">{hint}</p>}
      <SearchField label={label} onSearch={setQuery} />
      {error && found.length === 0 && <ErrorNote error={error} onRetry={reload} />}
      {isSearched && !error && found.length === 0 && <p class="hint">{texts.nobody(query)}</p>}
      {query !== '' && found.length > 0 && (
        <ul class="choice-list" aria-label={texts.results} aria-busy={isLoading}>
          {found.map((person) => (
            <li key={`${person.chat_id} ${person.game_id}`}>
              <Candidate person={person} needs={needs} onChoose={() => onChange(person)} />
            </li>
          ))}
        </ul>
      )}
    </>
  );
}

function Candidate(props: { person: FoundPerson; needs: 'game' | 'chat'; onChoose: () => void }) {
  const { person, needs, onChoose } = props;
  const isFit = (needs === 'game' ? person.game_id : person.chat_id) !== null;
  return (
    <button
      type="button"
      class="choice-button"
      disabled={!isFit}
      aria-label={`${texts.choose} ${nameOfPerson(person)}`}
      onClick={onChoose}
    >
      <PersonSummary person={person} />
      {!isFit && <span class="hint">{needs === 'game' ? texts.noGameAccount : texts.noChatAccount}</span>}
    </button>
  );
}
