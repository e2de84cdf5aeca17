import { z } from 'zod';
import type { OAuthTokens } from '#platforms/oauth/client.ts';

/** The tokens of a provider, as the credentials of a session store them. */
export const tokensSchema: z.ZodType<OAuthTokens> = z.object({
  access: z.string(),
  refresh: z.string().nullable(),
  expiresAt: z.number().nullable(),
});
