import { z } from 'zod';
import type { GrpcHandlers } from '#kit/grpc/definition.ts';
import { checked } from '#kit/http/validate.ts';
import type { GuildDoctorServiceService } from '#proto/gen/guild/auth/v1/doctor.ts';
import { guildId } from '#proto/rest/schemas.ts';
import type { GuildState } from '../domain/guild-state.ts';

const checkRequest = z.object({ guildId });

/** The methods of the gRPC service GuildDoctorService, which guildctl calls. */
export function doctorMethods(state: Pick<GuildState, 'checks'>): GrpcHandlers<typeof GuildDoctorServiceService> {
  return {
    checkGuild: async (message) => ({ checks: await state.checks(checked(checkRequest, message).guildId) }),
  };
}
