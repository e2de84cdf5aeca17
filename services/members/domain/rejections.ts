import { ApiError } from '#kit/errors.ts';

/** The errors of requests about members that cannot be carried out. */
export const notInGuild = () => new ApiError('NOT_FOUND', { message: 'The account is not in this guild' });
export const notVerified = () => new ApiError('NOT_FOUND', { message: 'The user is not verified in this guild' });
export const notApplicable = (message: string) => new ApiError('NOT_APPLICABLE', { message });
