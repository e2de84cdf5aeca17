import { explainRoles, listRoles, syncRoles } from '#clients/typescript/src/operations.ts';
import type { ExplainedRole, FoundPerson, Role } from '#clients/typescript/src/operations-types.ts';
import { ApiError } from '../../api/errors.ts';
import { useData } from '../../api/use-data.ts';
import { Button, ButtonLink } from '../../components/button.tsx';
import { RoleName } from '../../components/role-name.tsx';
import { Badge, Card, EmptyState, ErrorNote, Note, Skeleton } from '../../components/states.tsx';
import { useToasts } from '../../components/toast.tsx';
import { useAction } from '../../components/use-action.ts';
import { useGuild } from '../../shell/guild.tsx';
import { rolesTexts as texts } from '../../texts.ts';

/** Why a person has or lacks each role that bindings give, and a sync of the roles. */
export function Roles({ person }: { person: FoundPerson }) {
  const chatId = person.chat_id;
  if (chatId !== null) return <MemberRoles chatId={chatId} />;
  return (
    <Card title={texts.title}>
      <p class="hint">{texts.noChat}</p>
    </Card>
  );
}

function MemberRoles({ chatId }: { chatId: string }) {
  const guild = useGuild();
  const explained = useData((signal) => explainRoles(guild.rest, { chatId }, { signal }), [chatId]);
  // Only for the colors: without them the names are enough.
  const colors = useData(() => listRoles(guild.rest).catch(() => ({ roles: [] })), []);
  const sync = useSync(chatId, explained.reload);
  const { data, error } = explained;
  const isNoMember = error instanceof ApiError && error.code === 'NOT_FOUND';
  return (
    <Card
      title={texts.title}
      description={texts.description}
      actions={
        data &&
        guild.hasScope('sync:write') &&
        data.game_id !== null && (
          <Button icon="refresh" isBusy={sync.isBusy} onClick={() => void sync.run()}>
            {texts.sync}
          </Button>
        )
      }
    >
      {sync.error && <ErrorNote error={sync.error} />}
      {isNoMember && <p class="hint">{texts.notInGuild}</p>}
      {error && !isNoMember && <ErrorNote error={error} onRetry={explained.reload} />}
      {!data && !error && <Skeleton rows={5} />}
      {data?.game_id === null && <Note kind="warn">{texts.notVerified}</Note>}
      {data?.roles.length === 0 && <NoBindings />}
      {data && (
        <ul class="role-list">
          {data.roles.map((role) => (
            <RoleReasons key={role.role_id} role={role} roles={colors.data?.roles ?? []} />
          ))}
        </ul>
      )}
    </Card>
  );
}

function NoBindings() {
  const guild = useGuild();
  return (
    <EmptyState
      icon="bindings"
      title={texts.noBindings}
      action={
        guild.hasScope('sync:write') && <ButtonLink href={guild.path('bindings/new')}>{texts.addBinding}</ButtonLink>
      }
    />
  );
}

/** Syncs the roles of a member, and says what changed. */
function useSync(chatId: string, reload: () => void) {
  const { rest } = useGuild();
  const toasts = useToasts();
  return useAction(async () => {
    const { added, removed, failed } = await syncRoles(rest, { chat_id: chatId });
    reload();
    const changed = texts.synced(added.length, removed.length);
    toasts.done(failed.length === 0 ? changed : `${changed} ${texts.syncFailed(failed.length)}`);
  });
}

const KINDS = { yes: 'good', no: 'plain', unknown: 'warn' } as const;

/** One role: whether the person has it, and the verdict of each binding with its reason. */
export function RoleReasons({ role, roles }: { role: ExplainedRole; roles: readonly Role[] }) {
  const { role_id, role_name, has_role, action, blocked, bindings } = role;
  const color = roles.find(({ id }) => id === role_id)?.color;
  return (
    <li>
      <div class="role-head">
        <h3>
          <RoleName name={role_name ?? texts.deleted(role_id)} color={color} />
        </h3>
        <Badge kind={has_role ? 'good' : 'plain'}>{has_role ? texts.has : texts.lacks}</Badge>
      </div>
      {bindings.length === 0 && <p class="hint">{texts.noBinding}</p>}
      <ul class="reasons">
        {bindings.map(({ binding_id, matches, reason }) => (
          <li key={binding_id}>
            <Badge kind={KINDS[matches]}>{texts.matches[matches]}</Badge> <span>{reason}</span>
          </li>
        ))}
      </ul>
      {bindings.length > 1 && <p class="hint">{texts.oneIsEnough}</p>}
      {texts.actions[action] && !blocked && <p class="role-action">{texts.actions[action]}</p>}
      {blocked && (
        <Note kind="warn">
          <strong>{texts.blocked}</strong> {blocked.message || texts.failures[blocked.code]}
        </Note>
      )}
    </li>
  );
}
