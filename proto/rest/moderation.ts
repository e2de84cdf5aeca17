import { decisionRoutes } from './moderation/decisions.ts';
import { statusRoutes } from './moderation/status.ts';

export const moderationRoutes = { ...statusRoutes, ...decisionRoutes };
