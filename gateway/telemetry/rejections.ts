/**
 * The statuses of requests that were rejected: malformed, without a valid key, not permitted, or above a limit. They count
 * neither as success nor as error of the service level objectives (charts/guild-data/files/rules/slo.yaml), because a flood
 * of them would hide errors. Other statuses below 500, such as 404 for a player without a link, are results.
 */
export const REJECTIONS: readonly number[] = [400, 401, 403, 405, 408, 413, 415, 417, 429, 431];
