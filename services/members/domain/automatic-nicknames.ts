import { asApiError, isServerError } from '#kit/errors.ts';
import type { Queryable } from '#kit/postgres/pool.ts';
import type { Freshness } from '#kit/resilience/cache.ts';
import type { ChatMember } from '#platforms/chat.ts';
import { findSettings } from '../store/guild-settings.ts';
import type { MembersTelemetry } from '../telemetry/members.ts';
import type { Nicknames } from './nicknames.ts';
import type { FollowedMember } from './role-sync.ts';
import type { BindingNickname } from './verdicts.ts';

export interface AutomaticNicknamesOptions {
  database: Queryable;
  nicknames: Pick<Nicknames, 'apply' | 'textOf' | 'readRanks'>;
  telemetry: MembersTelemetry;
}

/** A linked member, and the nickname of the first binding that matches and has one. */
export type NamedMember = Pick<FollowedMember, 'link' | 'member' | 'nickname' | 'isRejected'>;

export interface TextsOptions {
  /** How new ranks in nicknames must be. */
  freshness?: Freshness | undefined;
  /** If true, the nickname of a member for whom a platform fails stays as it is, instead of an error. */
  skipsFailures?: boolean;
}

/** Sets the nicknames of members whose roles were synchronised in the background, as the guild's settings say. */
export class AutomaticNicknames {
  readonly #options: AutomaticNicknamesOptions;

  constructor(options: AutomaticNicknamesOptions) {
    this.#options = options;
  }

  /**
   * Sets the nickname of a member if a binding that matches has a template, or else the guild. Throws a fault such as
   * UNAVAILABLE if this has to be retried. A nickname that the bot cannot set is only logged, because the member's roles
   * are right without it.
   */
  async follow(guildId: string, named: NamedMember, freshness?: Freshness): Promise<void> {
    const [nickname] = await this.textsOf(guildId, [named], { freshness });
    if (nickname !== undefined) await this.apply(guildId, named.member, nickname);
  }

  /**
   * Returns the nicknames that members should have, in the order of the members; null is no nickname, undefined means
   * that it stays as it is. Throws a fault such as UNAVAILABLE if this has to be retried.
   */
  async textsOf(
    guildId: string,
    members: readonly NamedMember[],
    { freshness, skipsFailures = false }: TextsOptions = {},
  ): Promise<(string | null | undefined)[]> {
    const { nicknames } = this.#options;
    const ofGuild = members.some(({ nickname }) => nickname === undefined) ? await this.#ofGuild(guildId) : undefined;
    const wanted = members.map((named) => templateOf(named, ofGuild));
    const ranked = members.filter((_, index) => wanted[index] && namesRank(wanted[index]));
    if (ranked.length > 1) await nicknames.readRanks(ranked.map(({ link }) => link));
    const texts: (string | null | undefined)[] = [];
    for (const [index, { link, member }] of members.entries()) {
      const template = wanted[index];
      const read = () => template && nicknames.textOf(guildId, member, { ...template, link, freshness });
      const text = this.#unlessImpossible(guildId, member, read);
      texts.push(await (skipsFailures ? text.catch(() => undefined) : text));
    }
    return texts;
  }

  /** Sets the nickname of a member, who must have just been read. Returns false if the bot cannot set it. */
  async apply(guildId: string, member: ChatMember, nickname: string | null): Promise<boolean> {
    const apply = async () => {
      await this.#options.nicknames.apply(guildId, member, nickname);
      return true;
    };
    return (await this.#unlessImpossible(guildId, member, apply)) ?? false;
  }

  /** Does work on a member's nickname. Logs an error below 500, which a retry would not change. */
  async #unlessImpossible<Result>(
    guildId: string,
    { chatId }: ChatMember,
    work: () => Promise<Result> | undefined,
  ): Promise<Result | undefined> {
    try {
      return await work();
    } catch (thrown) {
      const error = asApiError(thrown);
      if (isServerError(error)) throw error;
      this.#options.telemetry.nicknameNotSet({ guildId, chatId }, error);
      return undefined;
    }
  }

  async #ofGuild(guildId: string): Promise<BindingNickname | undefined> {
    const { nicknameTemplate: template } = await findSettings(this.#options.database, guildId);
    return template === undefined ? undefined : { template, gameGroupId: undefined };
  }
}

const namesRank = ({ template }: BindingNickname) => template.includes('{rank_name}');

/** Returns the template for a member's nickname; undefined if there is none, or if it cannot be filled now. */
function templateOf(
  { nickname, isRejected }: NamedMember,
  ofGuild: BindingNickname | undefined,
): BindingNickname | undefined {
  const template = nickname ?? ofGuild;
  if (template === 'unknown' || (template && isRejected && namesRank(template))) return undefined;
  return template;
}
