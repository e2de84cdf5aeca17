import { useId, useState } from 'preact/hooks';
import type { ModerationAction } from '#clients/typescript/src/operations-types.ts';
import { Button } from '../../components/button.tsx';
import { Dialog } from '../../components/dialog.tsx';
import { Select, TextField } from '../../components/field.tsx';
import { PersonName } from '../../components/person.tsx';
import { actionTexts, moderationTexts as texts } from '../../texts.ts';
import { PersonPicker } from '../people/person-picker.tsx';
import { FILTERS_OF_TAB, type Filters, isFiltered, type TabName } from './filters.ts';

interface FilterProps {
  filters: Filters;
  change: (changed: Partial<Filters>) => void;
}

/** The filters of a tab. */
export function FilterBar({ tab, filters, change }: FilterProps & { tab: TabName }) {
  const names = FILTERS_OF_TAB[tab];
  const clear = () => change(Object.fromEntries(names.map((name) => [name, ''])));
  return (
    <div class="filters" role="group" aria-label={texts.filters}>
      <PersonFilter label={texts.byPlayer} value={filters.player} onChange={(player) => change({ player })} />
      {names.includes('moderator') && (
        <PersonFilter
          label={texts.byModerator}
          value={filters.moderator}
          onChange={(moderator) => change({ moderator })}
        />
      )}
      {names.includes('place') && (
        <TextField
          label={texts.byPlace}
          inputMode="numeric"
          value={filters.place}
          onChange={(place) => change({ place: place.replaceAll(/\D/g, '') })}
        />
      )}
      {names.includes('action') && <LogFilters filters={filters} change={change} />}
      {isFiltered(filters, tab) && (
        <Button kind="quiet" icon="close" onClick={clear}>
          {texts.clear}
        </Button>
      )}
    </div>
  );
}

const ACTIONS = Object.keys(actionTexts) as ModerationAction[];

function LogFilters({ filters, change }: FilterProps) {
  return (
    <>
      <Select
        label={texts.byAction}
        value={filters.action}
        onChange={(action) => change({ action })}
        options={[
          { value: '', label: texts.anyAction },
          ...ACTIONS.map((action) => ({ value: action, label: actionTexts[action] })),
        ]}
      />
      <TextField label={texts.from} type="date" value={filters.from} onChange={(from) => change({ from })} />
      <TextField label={texts.to} type="date" value={filters.to} onChange={(to) => change({ to })} />
    </>
  );
}

/** A filter by one person, who is chosen in a dialog. `value` is the ID of the game account. */
function PersonFilter(props: { label: string; value: string; onChange: (gameId: string) => void }) {
  const { label, value, onChange } = props;
  const id = useId();
  const [isOpen, setIsOpen] = useState(false);
  return (
    <div class="field filter-person">
      <span class="filter-label" id={`${id}-label`}>
        {label}
      </span>
      <Button icon="search" aria-labelledby={`${id}-label ${id}-value`} onClick={() => setIsOpen(true)}>
        <span id={`${id}-value`}>{value === '' ? texts.byPlayerHint : <PersonName gameId={value} isPlain />}</span>
      </Button>
      {isOpen && (
        <Dialog title={texts.filterBy(label)} onClose={() => setIsOpen(false)}>
          <PersonPicker
            label={label}
            value={undefined}
            needs="game"
            onChange={(person) => {
              setIsOpen(false);
              onChange(String(person?.game_id ?? ''));
            }}
          />
        </Dialog>
      )}
    </div>
  );
}
