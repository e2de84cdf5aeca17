import type { Turn } from './guild-writer.ts';

const ROLES = { bound: '910000000000000005', synced: '910000000000000003' };
const GROUPS = { bound: 502, synced: 501 };
/** Members of the simulated guild with their game accounts and different ranks in the group. */
const MEMBERS = [
  { chat_id: '920000000000000001', game_id: 7001 },
  { chat_id: '920000000000000003', game_id: 7003 },
  { chat_id: '920000000000000006', game_id: 7006 },
  { chat_id: '920000000000000008', game_id: 7008 },
];
/** A member who is linked in one turn and unlinked in the next one. */
const CHANGING = { chat_id: '920000000000000011', game_id: 7010 };
const TURNS_PER_JOB = 3;

const rankBinding = (role: string, group: number, minRank: number) => ({
  chat_role_id: role,
  binding_type: 'group_rank',
  game_group_id: group,
  min_rank: minRank,
  max_rank: 255,
});

/** Adds and changes bindings, and removes every other one. */
export const bindingsTurn: Turn = async (writer, turn) => {
  if (turn % 2 === 1) return;
  const minRank = 1 + turn;
  const { id } = await writer.post('/bindings/add', rankBinding(ROLES.bound, GROUPS.bound, minRank));
  writer.confirm('binding.created', id);
  await writer.patch('/bindings/update', { binding_id: id, priority: turn });
  writer.confirm('binding.updated', id, turn, minRank);
  if (turn % 4 !== 0) return;
  await writer.delete(`/bindings/remove/${id}`);
  writer.confirm('binding.removed', id);
};

/**
 * Returns a turn that changes the rank of a binding, synchronises roles, sets nicknames and starts jobs, and links and
 * unlinks a member, whose roles follow.
 */
export function membersTurns(): Turn {
  let bindingId: number | undefined;
  return async (writer, turn) => {
    if (bindingId === undefined) {
      const { id } = await writer.post('/bindings/add', rankBinding(ROLES.synced, GROUPS.synced, 1));
      writer.confirm('binding.created', id);
      bindingId = Number(id);
      for (const { chat_id, game_id } of MEMBERS) {
        await writer.post('/verification/link', { chat_id, game_id, game_username: 'Player' });
        writer.confirm('link.created', chat_id, game_id);
      }
    }
    const { chat_id } = MEMBERS[turn % MEMBERS.length] as (typeof MEMBERS)[number];
    const minRank = turn % 2 === 0 ? 255 : 1;
    await writer.patch('/bindings/update', { binding_id: bindingId, min_rank: minRank, priority: turn });
    writer.confirm('binding.updated', bindingId, turn, minRank);
    const { added, removed } = await writer.post('/sync/roles', { chat_id });
    if (added.length + removed.length > 0) writer.confirm('roles.changed', chat_id);
    const nickname = `Name ${turn}`;
    await writer.post('/sync/nickname', { chat_id, nickname });
    writer.confirm('nickname.changed', chat_id, nickname);
    if (turn % TURNS_PER_JOB === 0) {
      const { job_id } = await writer.post('/sync/group', { game_group_id: GROUPS.synced });
      writer.confirm('sync.job.finished', job_id);
    }
    if (turn % 2 === 0) await writer.post('/verification/link', { ...CHANGING, game_username: 'Player' });
    else await writer.post('/verification/unlink', { chat_id: CHANGING.chat_id });
    writer.confirm(turn % 2 === 0 ? 'link.created' : 'link.removed', CHANGING.chat_id, CHANGING.game_id);
  };
}
