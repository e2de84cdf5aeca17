import { useState } from 'preact/hooks';
import { IconButton } from '../components/button.tsx';
import { shellTexts as texts } from '../texts.ts';

type Theme = 'light' | 'dark';

const currentTheme = (): Theme => {
  const chosen = document.documentElement.dataset['theme'];
  if (chosen === 'light' || chosen === 'dark') return chosen;
  return matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
};

/** Changes between light and dark colors, and remembers the choice in this browser. */
export function ThemeToggle() {
  const [theme, setTheme] = useState(currentTheme);
  const change = () => {
    const next = theme === 'dark' ? 'light' : 'dark';
    document.documentElement.dataset['theme'] = next;
    localStorage.setItem('theme', next);
    setTheme(next);
  };
  return (
    <IconButton
      label={theme === 'dark' ? texts.themeLight : texts.themeDark}
      icon={theme === 'dark' ? 'sun' : 'moon'}
      onClick={change}
    />
  );
}
