import { ERRORS } from '#kit/errors.ts';
import { AUTHENTICATION_LIMIT, KEY_CAP_CATEGORY, WINDOW_SECONDS } from '#proto/rest/limits.ts';
import { BATCH_LIMIT } from '#proto/rest/schemas.ts';
import { ADVICE, ERRORS_WITHOUT_ROUTE } from './errors.ts';

const withoutRoute = ERRORS_WITHOUT_ROUTE.map(
  (code) => `- ${ERRORS[code].http} \`${code}\`: ${ERRORS[code].text}. ${ADVICE[code]}`,
);

/** What holds for every route, as Markdown. */
export const RULES = `Reads and writes the data of one guild: verification links, role bindings, moderation, members and activity.

## Keys and guilds

- Send the key as \`X-API-Key: KEY\`, \`Authorization: ApiKey KEY\` or \`Authorization: Bearer KEY\`. Keep it on your servers; in a URL it is refused.
- A key belongs to one guild. A guild named in the path, in \`X-Guild-ID\` or as \`guild_id\` in a body must be that one, else 403.
- A key reaches what its scopes name; \`x:write\` includes \`x:read\`. A key older than scopes reaches everything.

## Answers

- Every answer is JSON: \`{"status":"success","code":200,"message":"…","data":{…}}\` or \`{"status":"error","code":404,"message":"…","details":{"code":"NOT_FOUND"}}\`.
- Go by \`details.code\`; messages are for people and may change. Expect new fields and new codes at any time.
- Every answer has an \`X-Request-Id\`: your own (1 to 128 of \`A-Z a-z 0-9 . _ -\`) or a new one. Name it when you report something.

## Requests

- Bodies are JSON objects in UTF-8 of at most 64 KiB, plain or gzip. Unknown fields are ignored; an optional field may be null.
- Chat IDs are snowflakes sent as strings. Game IDs are whole numbers, also taken as strings of digits. Times are Unix seconds.
- At most ${BATCH_LIMIT} IDs in one batch. A query parameter may be given only once. Paths are exact in case and slashes.
- At most 100 headers, and 20 options in \`Connection\`. An \`Upgrade\` is ignored.

## Lists

- \`limit\` rows a page, then go on with \`cursor\` = the \`next_cursor\` of the page before, until that is null.
- A cursor belongs to its list, guild and filters. A filtered page may be short or empty while \`next_cursor\` is set.

## Limits

- Each route counts in a category, per guild or per key, in windows of ${WINDOW_SECONDS} s. A key may have a cap of its own on top (category \`${KEY_CAP_CATEGORY}\`).
- Counted answers carry \`X-RateLimit-Limit\`, \`X-RateLimit-Remaining\` and \`X-RateLimit-Reset\`; a 429 also \`Retry-After\` and is not counted.
- A 403 is counted only where the \`guild_id\` of a body caused it, because the body is read last. A 401 reports the limit on rejected keys.
- More than ${AUTHENTICATION_LIMIT.limit} refused keys in a window from one address: 429 (category \`${AUTHENTICATION_LIMIT.category}\`) in place of 401; IPv6 addresses are counted by /64, and by /48 with ten times the number. A valid key is never counted; one that a gateway does not know yet may get such a 429 with \`Retry-After: 1\`.
- One guild has a tenth of the requests that may be in flight at once; above that, and when all of them are in flight, 503 \`UNAVAILABLE\` with \`Retry-After: 1\`. Waiting polls are counted apart. A client that reads none of its response for 10 s is disconnected.

## Repeating a write

- Where an operation takes \`Idempotency-Key\` (1 to 128 characters), the same key with the same body is given the first answer again for 24 hours, with \`Idempotency-Replayed: true\`. So a write whose answer got lost can be sent again.
- Another body under the same key is 409; so is a repeat while the first is still running, with \`Retry-After\`.
- Answers 400, 401, 403, 413, 415, 429 and 5xx are not kept: mend the request or wait, and use the same key again.

## Errors of no route in particular

${withoutRoute.join('\n')}

## Versions

- Within \`/api/v1\` changes only add. A route that is to go away says so here and in \`Deprecation\`, \`Sunset\` and \`Link\` headers at least twelve months before.`;
