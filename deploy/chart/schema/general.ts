import { z } from 'zod';
import { processConfig } from '#kit/service/config.ts';
import { label } from './common.ts';
import { valueOf } from './variables.ts';

export const general = {
  nameOverride: label,
  fullnameOverride: label,
  logLevel: valueOf(processConfig.LOG_LEVEL),
  drainDelaySeconds: valueOf(processConfig.DRAIN_DELAY_SECONDS),
  stopSeconds: valueOf(processConfig.STOP_SECONDS),
  extraObjects: z.array(z.union([z.record(z.string(), z.any()), z.string()])),
};
