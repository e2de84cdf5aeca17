import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { useLocation } from 'preact-iso';
import { IconButton } from '../components/button.tsx';
import { Icon } from '../components/icon.tsx';
import { roleTexts, shellTexts as texts } from '../texts.ts';
import { type Guild, useGuild } from './guild.tsx';
import type { GuildPage } from './pages.ts';
import { useSession } from './session.tsx';
import { ThemeToggle } from './theme.tsx';

/** Navigation beside the content; on a phone it opens over the content. */
export function GuildLayout({ pages, children }: { pages: readonly GuildPage[]; children: ComponentChildren }) {
  const guild = useGuild();
  const { path } = useLocation();
  const [isOpen, setIsOpen] = useState(false);
  const opener = useRef<HTMLDivElement>(null);
  useEffect(() => setIsOpen(false), [path]);
  const close = () => {
    setIsOpen(false);
    opener.current?.querySelector('button')?.focus();
  };
  // Before the open menu is painted: an Escape that follows at once must not be lost.
  useLayoutEffect(() => {
    if (!isOpen) return undefined;
    // On the document, because the focus may still be on the button that opened it.
    const onKey = (event: KeyboardEvent) => event.key === 'Escape' && close();
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, [isOpen]);
  return (
    <div class="layout">
      <SkipLink />
      <header class="top-bar">
        <div ref={opener}>
          <IconButton
            label={isOpen ? texts.closeMenu : texts.openMenu}
            icon={isOpen ? 'close' : 'menu'}
            aria-expanded={isOpen}
            aria-controls="navigation"
            onClick={() => setIsOpen(!isOpen)}
          />
        </div>
        <span class="top-bar-title">{guild.name}</span>
        <ThemeToggle />
      </header>
      {isOpen && <div class="backdrop" onClick={close} aria-hidden="true" />}
      <nav id="navigation" class={isOpen ? 'sidebar is-open' : 'sidebar'} aria-label={texts.navigation}>
        <GuildSwitcher guild={guild} />
        <Entries pages={pages} guild={guild} path={path} />
        <SidebarFooter />
      </nav>
      <main id="content" tabIndex={-1}>
        {children}
      </main>
    </div>
  );
}

function SkipLink() {
  return (
    <a
      class="skip-link"
      href="#content"
      onClick={(event) => {
        event.preventDefault();
        document.querySelector<HTMLElement>('#content')?.focus();
      }}
    >
      {texts.skip}
    </a>
  );
}

function GuildSwitcher({ guild }: { guild: Guild }) {
  const { session } = useSession();
  const { route } = useLocation();
  const guilds = session?.guilds ?? [];
  const isListed = guilds.some(({ guild_id }) => guild_id === guild.id);
  return (
    <div class="guild-switcher">
      <label for="guild" class="visually-hidden">
        {texts.switchGuild}
      </label>
      <select
        id="guild"
        value={guild.id}
        onChange={(event) => {
          const id = event.currentTarget.value;
          route(id === '' ? '/' : `/guilds/${id}/overview`);
        }}
      >
        {!isListed && <option value={guild.id}>{guild.name}</option>}
        {guilds.map(({ guild_id, guild_name }) => (
          <option key={guild_id} value={guild_id}>
            {guild_name ?? texts.unnamedGuild(guild_id)}
          </option>
        ))}
        <option value="">{texts.allGuilds}</option>
      </select>
      <p class="hint">{roleTexts[guild.role]}</p>
    </div>
  );
}

function Entries({ pages, guild, path }: { pages: readonly GuildPage[]; guild: Guild; path: string }) {
  const shown = pages.filter((page) => page.navigation && page.isFor(guild));
  return (
    <ul class="nav-entries">
      {shown.map(({ path: page, navigation }, index) => {
        if (!navigation) return null;
        const { name, icon, section } = navigation;
        const isCurrent = path === guild.path(page) || path.startsWith(`${guild.path(page)}/`);
        const isFirst = section !== shown[index - 1]?.navigation?.section;
        return (
          <li key={page}>
            {section && isFirst && <p class="nav-section">{texts.sections[section]}</p>}
            <a href={guild.path(page)} aria-current={isCurrent ? 'page' : undefined}>
              <Icon name={icon} />
              <span>{texts.pages[name]}</span>
            </a>
          </li>
        );
      })}
    </ul>
  );
}

function SidebarFooter() {
  const { session } = useSession();
  return (
    <div class="sidebar-footer">
      <a href="/account" class="person-link">
        <Icon name="account" />
        <span>{session?.person.name}</span>
      </a>
      <ThemeToggle />
    </div>
  );
}

/** The frame of pages that belong to no guild. */
export function PlainLayout({ children }: { children: ComponentChildren }) {
  const { session } = useSession();
  return (
    <div class="plain-layout">
      <SkipLink />
      <header class="plain-header">
        <a class="brand" href="/">
          <Icon name="moderation" size={24} />
          <span>{texts.product}</span>
        </a>
        <div class="plain-header-end">
          {session && (
            <a href="/account" class="person-link">
              <Icon name="account" />
              <span>{session.person.name}</span>
            </a>
          )}
          <ThemeToggle />
        </div>
      </header>
      <main id="content" tabIndex={-1}>
        {children}
      </main>
    </div>
  );
}
