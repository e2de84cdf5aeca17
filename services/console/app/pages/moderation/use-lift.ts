import type { Punishment } from '#clients/typescript/src/operations-types.ts';
import { useToasts } from '../../components/toast.tsx';
import { useGuild } from '../../shell/guild.tsx';
import { useSession } from '../../shell/session.tsx';
import { punishTexts as texts } from '../../texts.ts';
import { moderatorOf } from './moderator.ts';
import { lift, type PunishmentKind, punish, restored, scopeOf } from './punishments.ts';

/** Lifts a ban or mute, and offers to take that back. `onChange` is called after each. */
export function useLift(kind: PunishmentKind, onChange: () => void): (row: Punishment) => Promise<void> {
  const { rest } = useGuild();
  const { session } = useSession();
  const toasts = useToasts();
  const putBack = async (row: Punishment) => {
    const args = restored(row);
    if (args) await punish(rest, kind, args);
    toasts.done(texts.undone);
    onChange();
  };
  return async (row) => {
    try {
      const moderator = await moderatorOf(rest, session?.person.id ?? '');
      await lift(rest, kind, { game_id: row.game_id, ...moderator, ...scopeOf(row) });
      onChange();
      toasts.done(texts[kind].lifted(row.game_username ?? String(row.game_id)), () => {
        putBack(row).catch(toasts.failed);
      });
    } catch (error) {
      toasts.failed(error);
    }
  };
}
