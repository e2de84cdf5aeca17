import { useEffect, useId, useRef } from 'preact/hooks';
import { Icon } from '../../components/icon.tsx';
import { peopleTexts as texts } from '../../texts.ts';

const DELAY_MS = 250;

/** A field to search in a dialog. `SearchBox` is a form, and a dialog may be one already. */
export function SearchField(props: { label: string; onSearch: (query: string) => void }) {
  const { label, onSearch } = props;
  const id = useId();
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  const report = (text: string, delay: number) => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => onSearch(text.trim()), delay);
  };
  return (
    <div class="search" role="search">
      <label for={id} class="visually-hidden">
        {label}
      </label>
      <Icon name="search" size={18} />
      <input
        id={id}
        type="search"
        autocomplete="off"
        placeholder={texts.placeholder}
        onInput={(event) => report(event.currentTarget.value, DELAY_MS)}
        onKeyDown={(event) => {
          if (event.key !== 'Enter') return;
          // Enter searches; it must not send the form of the dialog.
          event.preventDefault();
          report(event.currentTarget.value, 0);
        }}
      />
    </div>
  );
}
