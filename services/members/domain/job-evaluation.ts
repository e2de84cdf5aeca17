import { setTimeout as sleep } from 'node:timers/promises';
import { ApiError } from '#kit/errors.ts';
import type { GrpcClient } from '#kit/grpc/client.ts';
import { Interrupted } from '#kit/queue/definition.ts';
import type { BindingsServiceService, MemberVerdicts } from '#proto/gen/guild/bindings/v1/bindings.ts';
import type { Link, LookupServiceService } from '#proto/gen/guild/lookup/v1/lookup.ts';
import { withLinks } from './links.ts';
import { isAbove } from './members.ts';
import { type EvaluatedMember, evaluate, type VerdictScope } from './verdicts.ts';

/** The maximum number of members that a job evaluates in one call of the bindings service. */
export const CHUNK = 100;
/** The number of failed attempts after which a job skips a member for which a platform fails. */
export const MAX_ATTEMPTS_PER_MEMBER = 4;
/** Milliseconds until the data of members that the game platform did not return is requested again. */
const QUERY_AGAIN_MS = 1_000;

/**
 * Adds to each member of a page its link, and sorts the members by chat ID. Members without a link are left out unless `all` is
 * set.
 */
export async function handledMembers<Member extends { chatId: string }>(
  lookup: GrpcClient<typeof LookupServiceService>,
  guildId: string,
  members: readonly Member[],
  { all = false } = {},
): Promise<(Member & { link: Link | undefined })[]> {
  const linked = await withLinks(lookup, guildId, members);
  return linked.filter(({ link }) => all || link).sort((left, right) => (isAbove(left.chatId, right.chatId) ? 1 : -1));
}

/** Returns the accounts of a member for an evaluation. */
export const accountsOf = ({ chatId, link }: { chatId: string; link: Link | undefined }): EvaluatedMember => ({
  chatId,
  gameId: link?.gameId ?? 0,
});

export interface JobEvaluation {
  bindings: GrpcClient<typeof BindingsServiceService>;
  guildId: string;
  members: readonly EvaluatedMember[];
  scope: VerdictScope;
  /** The number of failed attempts since the job last made progress. */
  attempts: number;
  signal: AbortSignal;
}

/**
 * Asks the bindings service which roles each member should have. If the game platform returned the data of some members
 * only, for example because of its rate limit, the others are evaluated again, as long as each call returns the data of
 * more members. Throws PLATFORM_ERROR if data of too many members is missing then, and Interrupted if the signal is aborted.
 */
export async function evaluateForJob(evaluation: JobEvaluation): Promise<MemberVerdicts[]> {
  const { bindings, guildId, members, scope, signal } = evaluation;
  const verdicts = await evaluate(bindings, guildId, members, scope);
  for (let before = members.length; !signal.aborted; ) {
    const missing = [...verdicts.keys()].filter((index) => verdicts[index]?.incomplete);
    if (missing.length === 0 || missing.length >= before) break;
    before = missing.length;
    await sleep(QUERY_AGAIN_MS, undefined, { signal }).catch(() => undefined);
    if (signal.aborted) break;
    const again = await evaluate(
      bindings,
      guildId,
      missing.map((index) => members[index] as EvaluatedMember),
      scope,
    );
    for (const [place, index] of missing.entries()) verdicts[index] = again[place] as MemberVerdicts;
  }
  // Data that is missing because the process stops is no failure.
  if (signal.aborted) throw new Interrupted();
  rejectIncomplete(evaluation.attempts, verdicts);
  return verdicts;
}

/**
 * Throws if the game platform did not return the data of some members, so that the job is retried: always if half of
 * the members or more are missing, otherwise a few times only, because the platform may never return some of them.
 */
function rejectIncomplete(attempts: number, verdicts: readonly MemberVerdicts[]): void {
  const incomplete = verdicts.filter((member) => member.incomplete).length;
  if (incomplete === 0 || (attempts >= MAX_ATTEMPTS_PER_MEMBER && incomplete * 2 < verdicts.length)) return;
  throw new ApiError('PLATFORM_ERROR', { message: 'The game platform did not return the data that the bindings need' });
}
