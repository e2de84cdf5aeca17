import { Metadata, type ServiceError, type StatusObject, status } from '@grpc/grpc-js';
import { expect, test } from 'vitest';
import { ApiError, asApiError, ERRORS, type ErrorCode, invalidRequest, isServerError } from './errors.ts';
import { isGrpcFailure } from './grpc/client.ts';
import { fromStatus, toStatus } from './grpc/errors.ts';
import { errorBody, rawErrorResponse } from './http/envelope.ts';

const CODES = Object.keys(ERRORS) as ErrorCode[];

function received(sent: ReturnType<typeof toStatus>): ServiceError {
  return Object.assign(new Error('received'), sent) as ServiceError;
}

function rejectedByGrpc(code: status, metadata = new Metadata()): ServiceError {
  return Object.assign(new Error('rejected'), { code, details: '', metadata });
}

test.each(CODES)('%s crosses gRPC with its code, message, details and Retry-After, and without its cause', (code) => {
  const error = new ApiError(code, {
    message: 'Ünderstood 𝄞',
    details: { errors: [{ path: 'body.x', message: 'is required' }] },
    retryAfter: 7,
    cause: new Error('hidden'),
  });
  const sent = toStatus(error);
  expect(JSON.stringify(sent) + sent.metadata?.get('guild-error-bin').join('')).not.toContain('hidden');
  const { message, details, retryAfter } = error;
  expect(fromStatus(received(sent))).toMatchObject({ code, message, details, retryAfter });
});

test.each([
  [status.UNAVAILABLE, 'UNAVAILABLE'],
  [status.CANCELLED, 'UNAVAILABLE'],
  [status.RESOURCE_EXHAUSTED, 'UNAVAILABLE'],
  [status.DEADLINE_EXCEEDED, 'TIMEOUT'],
  [status.UNAUTHENTICATED, 'INTERNAL'],
  [status.PERMISSION_DENIED, 'INTERNAL'],
  [status.NOT_FOUND, 'INTERNAL'],
  [status.UNIMPLEMENTED, 'INTERNAL'],
  [status.UNKNOWN, 'INTERNAL'],
])('a status of gRPC itself is a server error and never a rejection of the client: %i becomes %s', (code, expected) => {
  const error = fromStatus(rejectedByGrpc(code));
  expect(error.code).toBe(expected);
  expect(isServerError(error)).toBe(true);
});

test.each(['not JSON', '{"code":"OF_A_NEWER_SERVICE","message":"x","details":{}}', '{"code":"toString"}'])(
  'a trailer that cannot be parsed is ignored: %s',
  (trailer) => {
    const metadata = new Metadata();
    metadata.set('guild-error-bin', Buffer.from(trailer));
    expect(fromStatus(rejectedByGrpc(status.NOT_FOUND, metadata)).code).toBe('INTERNAL');
  },
);

test('an error that a service itself returned is not its failure; an unreachable service is', () => {
  const failures = CODES.filter((code) => isGrpcFailure(new ApiError(code)));
  expect(failures).toEqual(['INTERNAL', 'PLATFORM_ERROR', 'UNAVAILABLE', 'TIMEOUT']);
  const returned = CODES.map((code) => fromStatus(toStatus(new ApiError(code)) as StatusObject));
  expect(returned.filter(isGrpcFailure)).toEqual([]);
  expect(isGrpcFailure(new Error('anything else'))).toBe(true);
});

test("an error response has the error's code, whatever its details hold, and never its cause", () => {
  const error = new ApiError('NOT_APPLICABLE', { details: { code: 50013, role_id: '1' }, cause: new Error('hidden') });
  expect(JSON.parse(errorBody(error))).toEqual({
    status: 'error',
    code: 422,
    message: 'The request cannot be applied in the current state',
    details: { role_id: '1', code: 'NOT_APPLICABLE' },
  });
  expect(JSON.parse(errorBody(asApiError(new Error('hidden'))))).toEqual({
    status: 'error',
    code: 500,
    message: 'Something went wrong on our side',
    details: { code: 'INTERNAL' },
  });
});

test('UNAVAILABLE always has Retry-After, in whole seconds', () => {
  expect(new ApiError('UNAVAILABLE').retryAfter).toBe(1);
  expect(new ApiError('UNAVAILABLE', { retryAfter: 2.1 }).retryAfter).toBe(3);
  expect(new ApiError('TIMEOUT').retryAfter).toBeUndefined();
});

test('the message of a 400 has the first validation error and the number of further ones', () => {
  const fault = { path: 'body.x', message: 'is required' };
  expect(invalidRequest([fault]).message).toBe('body.x is required');
  expect(invalidRequest([fault, fault, fault]).message).toBe('body.x is required (and 2 more)');
});

test('a raw error response is complete HTTP/1.1 and closes the connection', () => {
  const [head = '', body = ''] = rawErrorResponse(new ApiError('UNAVAILABLE'), ['x-request-id', 'a']).split('\r\n\r\n');
  expect(head.split('\r\n')).toEqual([
    'HTTP/1.1 503 Service Unavailable',
    `content-length: ${Buffer.byteLength(body)}`,
    'connection: close',
    'retry-after: 1',
    'x-request-id: a',
    'content-type: application/json; charset=utf-8',
    'cache-control: no-store',
    'x-content-type-options: nosniff',
  ]);
  expect(JSON.parse(body)).toMatchObject({ status: 'error', code: 503, details: { code: 'UNAVAILABLE' } });
});

test('message and details of an error are in its body', () => {
  const bodyOf = (options?: ConstructorParameters<typeof ApiError>[1]) =>
    JSON.parse(errorBody(new ApiError('CONFLICT', options)));
  const plain = { status: 'error', code: 409, message: ERRORS.CONFLICT.text, details: { code: 'CONFLICT' } };
  expect(bodyOf()).toEqual(plain);
  expect(bodyOf({ message: 'linked already' })).toEqual({ ...plain, message: 'linked already' });
  expect(bodyOf({ details: { link: 7 } })).toEqual({ ...plain, details: { link: 7, code: 'CONFLICT' } });
  expect(bodyOf({ retryAfter: 3 })).toEqual(plain);
});
