import { useState } from 'preact/hooks';
import { listBindings, listRoles } from '#clients/typescript/src/operations.ts';
import type { Binding, Role } from '#clients/typescript/src/operations-types.ts';
import { useData } from '../../api/use-data.ts';
import { Button, ButtonLink, IconButton } from '../../components/button.tsx';
import { RoleName } from '../../components/role-name.tsx';
import { Badge, Card, EmptyState, ErrorNote, Note, Skeleton } from '../../components/states.tsx';
import { useGuild } from '../../shell/guild.tsx';
import { Page } from '../../shell/page.tsx';
import { bindingsTexts as texts } from '../../texts.ts';
import { conditionOf, roleNameOf } from './describe.ts';
import { RemoveDialog } from './remove-dialog.tsx';
import { adviceOf } from './role-help.ts';
import { SyncDialog } from './sync.tsx';
import { TestDialog } from './test-dialog.tsx';

/** Which roles members get for what they have in the game. */
export function BindingsPage() {
  const guild = useGuild();
  const list = useData((signal) => listBindings(guild.rest, { signal }), []);
  const roles = useRoles();
  const [isSyncing, setIsSyncing] = useState(false);
  const bindings = list.data?.bindings ?? [];
  const mayWrite = guild.hasScope('sync:write');
  return (
    <Page
      title={texts.title}
      description={texts.description}
      actions={
        mayWrite && (
          <>
            {bindings.length > 0 && (
              <Button icon="refresh" onClick={() => setIsSyncing(true)}>
                {texts.sync}
              </Button>
            )}
            <ButtonLink kind="primary" icon="plus" href={guild.path('bindings/new')}>
              {texts.add}
            </ButtonLink>
          </>
        )
      }
    >
      <BlockedNote bindings={bindings} roles={roles} />
      <Card isFlush>
        {list.error && <ErrorNote error={list.error} onRetry={list.reload} />}
        {!list.data && !list.error && <Skeleton rows={5} />}
        {list.data && bindings.length === 0 && (
          <EmptyState icon="bindings" title={texts.emptyTitle}>
            {mayWrite ? texts.empty : texts.emptyForOthers}
          </EmptyState>
        )}
        <ul class="rows">
          {bindings.map((binding) => (
            <BindingRow key={binding.id} binding={binding} bindings={bindings} roles={roles} reload={list.reload} />
          ))}
        </ul>
      </Card>
      {isSyncing && <SyncDialog bindings={bindings} onClose={() => setIsSyncing(false)} />}
    </Page>
  );
}

/** The roles of the guild; none while they are loaded, and if the chat platform does not respond. */
function useRoles(): readonly Role[] {
  const { rest } = useGuild();
  return useData((signal) => listRoles(rest, { signal }), []).data?.roles ?? [];
}

/** What to do if roles with a binding cannot be assigned. */
function BlockedNote({ bindings, roles }: { bindings: readonly Binding[]; roles: readonly Role[] }) {
  const bound = new Set(bindings.map(({ chat_role_id }) => chat_role_id));
  const isBlocked = roles.some(({ id, assignable, managed }) => bound.has(id) && !assignable && !managed);
  const advice = isBlocked ? adviceOf(roles) : undefined;
  return advice ? <Note kind="warn">{advice}</Note> : null;
}

function BindingRow(props: {
  binding: Binding;
  bindings: readonly Binding[];
  roles: readonly Role[];
  reload: () => void;
}) {
  const { binding, bindings, roles, reload } = props;
  const guild = useGuild();
  const [isTesting, setIsTesting] = useState(false);
  const [isRemoving, setIsRemoving] = useState(false);
  const isLast = bindings.every(({ id, chat_role_id }) => id === binding.id || chat_role_id !== binding.chat_role_id);
  const name = roleNameOf(binding);
  const role = roles.find(({ id }) => id === binding.chat_role_id);
  return (
    <li class="row">
      <div class="row-main">
        <p class="binding-role">
          <strong>
            <RoleName name={name} color={role?.color} />
          </strong>
          {role?.assignable === false && <Badge kind="warn">{texts.blocked}</Badge>}
        </p>
        <p>{conditionOf(binding)}</p>
      </div>
      <div class="row-actions">
        <Button aria-label={texts.testLabel(name)} onClick={() => setIsTesting(true)}>
          {texts.test}
        </Button>
        {guild.hasScope('sync:write') && (
          <>
            <ButtonLink href={guild.path(`bindings/edit/${binding.id}`)}>{texts.edit}</ButtonLink>
            <IconButton label={texts.removeLabel(name)} icon="trash" onClick={() => setIsRemoving(true)} />
          </>
        )}
      </div>
      {isTesting && <TestDialog binding={binding} roleName={name} onClose={() => setIsTesting(false)} />}
      {isRemoving && (
        <RemoveDialog binding={binding} isLast={isLast} reload={reload} onClose={() => setIsRemoving(false)} />
      )}
    </li>
  );
}
