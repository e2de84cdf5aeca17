import { readFileSync } from 'node:fs';
import type { Server } from '@grpc/grpc-js';
import { loadFileDescriptorSetFromBuffer } from '@grpc/proto-loader';
import { ReflectionService } from '@grpc/reflection';
import { pathOf } from '../files.ts';

/** Lets tools such as grpcurl read which of these services the server has, and their messages. */
export function addReflection(server: Server, services: string[]): void {
  const described = loadFileDescriptorSetFromBuffer(readFileSync(pathOf('proto/gen/descriptors.binpb')));
  new ReflectionService(described, { services }).addToServer(server);
}
