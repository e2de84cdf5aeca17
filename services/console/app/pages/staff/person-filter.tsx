import { TextField } from '../../components/field.tsx';
import { staffTexts as texts } from '../../texts.ts';

/** Filters a list by a game account. */
export function PersonFilter({ value, onChange }: { value: string; onChange: (value: string) => void }) {
  return (
    <TextField
      label={texts.personFilter}
      inputMode="numeric"
      value={value}
      onChange={(text) => onChange(text.replaceAll(/[^0-9]/g, '').slice(0, 15))}
    />
  );
}

/** The query parameter of a filter; nothing while it is empty. */
export function personArgument<Name extends string>(name: Name, value: string): { [Key in Name]?: string } {
  return (value === '' ? {} : { [name]: value }) as { [Key in Name]?: string };
}
