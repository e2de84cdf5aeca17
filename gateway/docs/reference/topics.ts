import type { OpenApiDocument, Operation } from '../../openapi/document.ts';

/** An operation of the API with its HTTP method and path. */
export interface Endpoint {
  method: string;
  path: string;
  operation: Operation;
}

/** The operations about one thing, which one page of the reference shows. */
export interface Topic {
  slug: string;
  title: string;
  description: string;
  endpoints: Endpoint[];
}

interface TopicSpec extends Omit<Topic, 'endpoints'> {
  /** The paths that belong to the topic, after the API's prefix. An operation belongs to the first topic that matches. */
  paths: RegExp;
  /** The tags whose operations belong to the topic unless a path decides otherwise. */
  tags: readonly string[];
}

/** The topics of the reference, in the order in which the pages show them. */
const TOPICS: readonly TopicSpec[] = [
  {
    slug: 'verification',
    title: 'Verification',
    description: 'Link chat accounts with game accounts, and look up who is linked.',
    paths: /^\/(?:verification|lookup|reverse|guilds\/[^/]+\/(?:verified|links))(?:\/|$)/,
    tags: ['lookup'],
  },
  {
    slug: 'moderation',
    title: 'Moderation',
    description: 'Ban and mute players, check who is banned or muted, and read the log.',
    paths: /^\/(?:moderation|guilds\/[^/]+\/people)(?:\/|$)/,
    tags: ['moderation'],
  },
  {
    slug: 'flagged-players',
    title: 'Flagged players',
    description: 'Put players on the flagged list of the guild, and check who is on it.',
    paths: /^\/(?:shield|guilds\/[^/]+\/shield)(?:\/|$)/,
    tags: [],
  },
  {
    slug: 'commands',
    title: 'Commands',
    description: 'Send commands to game servers, such as kick or broadcast, and let game servers fetch them.',
    paths: /^\/(?:guilds\/[^/]+\/commands|game\/servers\/[^/]+\/commands)(?:\/|$)/,
    tags: [],
  },
  {
    slug: 'servers',
    title: 'Servers',
    description: 'Report live game servers, list them, and find the server of a player.',
    paths: /^\/(?:game|guilds\/[^/]+\/(?:servers|players))(?:\/|$)/,
    tags: [],
  },
  {
    slug: 'staff',
    title: 'Staff',
    description:
      'Record what staff do in the game, read it as lists or as a report for a leaderboard, and read their permissions.',
    paths: /^\/(?:staff|guilds\/[^/]+\/staff)(?:\/|$)/,
    tags: ['activity'],
  },
  {
    slug: 'members',
    title: 'Members',
    description: 'Read the members and roles of the guild on the chat platform.',
    paths: /^\/guilds\/[^/]+\/(?:members|roles)(?:\/|$)/,
    tags: [],
  },
  {
    slug: 'sync',
    title: 'Sync',
    description: "Set the chat roles and nicknames of members according to the guild's role bindings.",
    paths: /^\/sync(?:\/|$)/,
    tags: ['members'],
  },
  {
    slug: 'bindings',
    title: 'Role bindings',
    description:
      'Define which chat roles members get for ranks, gamepasses, assets, badges or the age of their account.',
    paths: /^\/bindings(?:\/|$)/,
    tags: ['bindings'],
  },
  {
    slug: 'events',
    title: 'Events and webhooks',
    description: "Read every change of the guild's data, stream it, or have it sent to your own server.",
    paths: /^\/(?:events|webhooks)(?:\/|$)/,
    tags: ['events'],
  },
  {
    slug: 'keys',
    title: 'Your key',
    description: 'See what your API key may do, what the guild uses, and whether the API is available.',
    paths: /^\/(?:whoami|guilds\/[^/]+\/usage)(?:\/|$)/,
    tags: ['gateway', 'auth'],
  },
];

const PREFIX = /^\/api\/v\d+/;

/** Returns all topics with their operations. Each operation belongs to exactly one topic. */
export function topicsOf(document: OpenApiDocument): Topic[] {
  const endpoints = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries<Operation>(item).map(([method, operation]): Endpoint => ({ method, path, operation })),
  );
  const byTopic = Map.groupBy(endpoints, topicOf);
  return TOPICS.map((topic) => ({
    slug: topic.slug,
    title: topic.title,
    description: topic.description,
    endpoints: byTopic.get(topic) ?? [],
  }));
}

function topicOf({ path, operation }: Endpoint): TopicSpec {
  const route = path.replace(PREFIX, '');
  const found =
    TOPICS.find(({ paths }) => paths.test(route)) ??
    TOPICS.find(({ tags }) => operation.tags.some((tag) => tags.includes(tag)));
  if (!found) throw new Error(`${path} belongs to no topic: name its path or tag in gateway/docs/reference/topics.ts`);
  return found;
}

/** The path of the page with an operation, and its place on that page. */
export const linkTo = ({ slug }: Pick<Topic, 'slug'>, operationId?: string): string =>
  `/docs/reference/${slug}${operationId === undefined ? '' : `#${operationId}`}`;

/** The path of an operation without the API's prefix, which is the same everywhere. */
export const shortPath = (path: string): string => path.replace(PREFIX, '');
