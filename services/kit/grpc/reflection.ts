import { readFileSync } from 'node:fs';
import type { Server } from '@grpc/grpc-js';
import { loadFileDescriptorSetFromBuffer } from '@grpc/proto-loader';
import { ReflectionService } from '@grpc/reflection';
import { pathOf } from '../files.ts';

/** Lets tools such as grpcurl read which of these services the server has, and their messages. */
export function addReflection(server: Server, services: string[]): void {
  const described = loadFileDescriptorSetFromBuffer(readFileSync(pathOf('proto/gen/descriptors.binpb')));
  // Every message has the descriptors of all files, and the library decodes those of each message it gets: 0.2 s for all.
  const [whole] = Object.entries(described).filter(([, entry]) => 'fileDescriptorProtos' in entry);
  const own = Object.fromEntries(whole ? [whole] : []);
  new ReflectionService(own, { services }).addToServer(server);
}
