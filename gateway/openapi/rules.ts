import { ERRORS } from '#kit/errors.ts';
import { AUTHENTICATION_LIMIT, KEY_CAP_CATEGORY, WINDOW_SECONDS } from '#proto/rest/limits.ts';
import { BATCH_LIMIT } from '#proto/rest/schemas.ts';
import { ADVICE, ERRORS_WITHOUT_ROUTE } from './errors.ts';

const withoutRoute = ERRORS_WITHOUT_ROUTE.map(
  (code) => `- ${ERRORS[code].http} \`${code}\`: ${ERRORS[code].text}. ${ADVICE[code]}`,
);

/** The description in the OpenAPI document: the rules that apply to every route, as Markdown. */
export const RULES = `Read and write the data of one guild: account links, role bindings, moderation, members and activity.

## Keys and guilds

- Send the key as \`X-API-Key: KEY\`, \`Authorization: ApiKey KEY\` or \`Authorization: Bearer KEY\`. Keep the key on your servers. A key in a URL is rejected.
- A key belongs to one guild. A guild ID in the path, in \`X-Guild-ID\` or in \`guild_id\` of a body must be the ID of that guild, otherwise the response is 403.
- A key may use the routes of its scopes; \`x:write\` includes \`x:read\`. In this document \`x-required-scope\` is the scope of an operation; without it any valid key may call it. A legacy key, created before scopes existed, may use every route.

## Responses

- Every response is JSON: \`{"status":"success","code":200,"message":"…","data":{…}}\` or \`{"status":"error","code":404,"message":"…","details":{"code":"NOT_FOUND"}}\`.
- Programs must use \`details.code\`; messages are for people and may change. New fields and new codes may be added at any time.
- Every response has an \`X-Request-Id\`: your own (1 to 128 of \`A-Z a-z 0-9 . _ -\`) or a generated one. Include it when you report a problem.

## Requests

- Bodies are JSON objects in UTF-8 of at most 64 KiB, plain or gzip. Unknown fields are ignored; an optional field may be null.
- Chat IDs are snowflakes sent as strings. Game IDs are integers; strings of digits are accepted too. Times are Unix seconds.
- A batch has at most ${BATCH_LIMIT} IDs. A query parameter may be given only once. Paths must match exactly, including case and slashes.
- A request has at most 100 headers, and at most 20 options in \`Connection\`. \`Upgrade\` is ignored.

## Pagination

- A page has up to \`limit\` rows. To get the next page, pass the \`next_cursor\` of the previous response as \`cursor\`. On the last page \`next_cursor\` is null.
- A cursor is valid only for the same list, guild and filters. A filtered page may have fewer than \`limit\` rows, or none, although \`next_cursor\` is set.

## Rate limits

- Each route belongs to a category. Requests are counted per category, for each guild or each key, in windows of ${WINDOW_SECONDS} s. \`x-rate-limit\` is the category of an operation, and \`x-rate-limits\` lists the categories. A key may also have a limit of its own (category \`${KEY_CAP_CATEGORY}\`).
- The response to a counted request has \`X-RateLimit-Limit\`, \`X-RateLimit-Remaining\` and \`X-RateLimit-Reset\`. A request above a limit gets 429 with \`Retry-After\` and is not counted.
- A request that gets 403 is counted only if the cause is \`guild_id\` in the body, because the body is read last. A 401 reports the limit of rejected keys.
- After ${AUTHENTICATION_LIMIT.limit} rejected keys in a window, an address gets 429 (category \`${AUTHENTICATION_LIMIT.category}\`) instead of 401. IPv6 addresses are counted by /64, and by /48 with ten times the limit. A valid key is never counted, but if the gateway does not have it in its cache yet, the request may get such a 429 with \`Retry-After: 1\`.
- A guild may have a tenth of the gateway's maximum number of requests in flight. A request above that share, or above the maximum, gets 503 \`UNAVAILABLE\` with \`Retry-After: 1\`. Waiting polls are counted separately. A client that reads nothing of its response for 10 s is disconnected.

## Retrying a write

- Operations that change data accept \`Idempotency-Key\` (1 to 128 characters). For 24 hours a request with the same key and body gets the first response again, with \`Idempotency-Replayed: true\`. If the response to a write is lost, you can therefore retry it.
- A request with the same key and another body gets 409. So does a retry while the first request is still running, with \`Retry-After\`.
- Responses with 400, 401, 403, 413, 415, 429 and 5xx are not stored: fix the request or wait, then use the same key again.

## Errors outside of routes

${withoutRoute.join('\n')}

## Versions

- Changes within \`/api/v1\` are backward compatible. A route that will be removed is marked as deprecated here and in the \`Deprecation\`, \`Sunset\` and \`Link\` headers at least twelve months before.`;
