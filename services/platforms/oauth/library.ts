/**
 * Loads openid-client, with the first sign-in: the library and what Node loads for it take 7 MB, which a process that signs
 * nobody in does not need.
 */
export const openIdClient = () => import('openid-client');
