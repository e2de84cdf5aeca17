import { z } from 'zod';
import { gatewayVariables } from '#gateway/config.ts';
import { tracingConfig } from '#kit/service/config.ts';
import { PAIR_NAME } from '#kit/service/pairs.ts';
import { chatPlatformConfig, gamePlatformConfig } from '#platforms/config.ts';
import { eventsVariables } from '#services/events/config.ts';
import { group, json, orEmpty } from './build.ts';
import { flag, keyOf } from './common.ts';
import { itemOf, valueOf } from './variables.ts';

/** Texts by name; Helm's message about a wrong name then has the path of the object, which it lacks with propertyNames. */
const resourceAttributes = json({
  type: 'object',
  patternProperties: { [`^${PAIR_NAME}$`]: { type: 'string' } },
  additionalProperties: false,
});

export const outside = {
  platforms: group({
    chatApiUrl: orEmpty(valueOf(chatPlatformConfig.CHAT_API_URL)),
    chatBotUrl: orEmpty(valueOf(chatPlatformConfig.CHAT_BOT_URL)),
    chatApplicationPublicKey: orEmpty(valueOf(gatewayVariables.CHAT_APPLICATION_PUBLIC_KEY)),
    gameUsersUrl: orEmpty(valueOf(gamePlatformConfig.GAME_USERS_URL)),
    gameGroupsUrl: orEmpty(valueOf(gamePlatformConfig.GAME_GROUPS_URL)),
    gameInventoryUrl: orEmpty(valueOf(gamePlatformConfig.GAME_INVENTORY_URL)),
    gameBadgesUrl: orEmpty(valueOf(gamePlatformConfig.GAME_BADGES_URL)),
    gameEconomyUrl: orEmpty(valueOf(gamePlatformConfig.GAME_ECONOMY_URL)),
    gameApisUrl: orEmpty(valueOf(gamePlatformConfig.GAME_APIS_URL)),
    chatGlobalRps: valueOf(chatPlatformConfig.CHAT_GLOBAL_RPS),
    gameGlobalRps: valueOf(gamePlatformConfig.GAME_GLOBAL_RPS),
    gameMembershipsPerMinute: valueOf(gamePlatformConfig.GAME_MEMBERSHIPS_PER_MINUTE),
    gameInventoriesPerMinute: valueOf(gamePlatformConfig.GAME_INVENTORIES_PER_MINUTE),
    proxySecret: keyOf,
    caSecret: keyOf,
    caConfigMap: keyOf,
  }),
  webhooks: group({
    allowHttp: flag,
    allowedNetworks: z.array(itemOf(eventsVariables.WEBHOOKS_ALLOWED_NETWORKS)),
    proxySecret: keyOf,
    caSecret: keyOf,
    caConfigMap: keyOf,
  }),
  tracing: group({
    endpoint: orEmpty(valueOf(tracingConfig.OTEL_EXPORTER_OTLP_ENDPOINT)),
    sampleRatio: valueOf(tracingConfig.TRACING_SAMPLE_RATIO),
    callerSamplesPerSecond: valueOf(tracingConfig.TRACING_CALLER_SAMPLES_PER_SECOND),
    sendEveryMs: valueOf(tracingConfig.OTEL_BSP_SCHEDULE_DELAY),
    headersSecret: keyOf,
    caSecret: keyOf,
    caConfigMap: keyOf,
    resourceAttributes,
  }),
};
