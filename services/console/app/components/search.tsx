import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { Icon } from './icon.tsx';

const DELAY_MS = 250;

/** A field to search or filter with. It reports the text when the person pauses, and at once on Enter. */
export function SearchBox(props: {
  label: string;
  placeholder?: string;
  value: string;
  onChange: (value: string) => void;
}) {
  const { label, placeholder, value, onChange } = props;
  const id = useId();
  const [text, setText] = useState(value);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => setText(value), [value]);
  useEffect(() => () => clearTimeout(timer.current), []);
  const report = (next: string, delay: number) => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => onChange(next.trim()), delay);
  };
  return (
    <form
      class="search"
      role="search"
      onSubmit={(event) => {
        event.preventDefault();
        report(text, 0);
      }}
    >
      <label for={id} class="visually-hidden">
        {label}
      </label>
      <Icon name="search" size={18} />
      <input
        id={id}
        type="search"
        autocomplete="off"
        placeholder={placeholder ?? label}
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          report(event.currentTarget.value, DELAY_MS);
        }}
      />
    </form>
  );
}
