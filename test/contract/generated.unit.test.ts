import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { loadFileDescriptorSetFromBuffer } from '@grpc/proto-loader';
import { expect, test } from 'vitest';
import { filesBelow, readText } from './sources.ts';

// A quick check of names and numbers; continuous integration generates everything again and compares it exactly.
const PROTOS = filesBelow('proto/guild', /\.proto$/);
const descriptors = loadFileDescriptorSetFromBuffer(
  readFileSync(join(import.meta.dirname, '../../proto/gen/descriptors.binpb')),
);

/** `package.Name` of each message, enumeration or service of a file, with the text between its braces. */
function blocks(text: string, keyword: 'message' | 'enum' | 'service'): { name: string; inside: string }[] {
  const [, packageName] = /^package (.+);$/m.exec(text) ?? [];
  const block = new RegExp(`^${keyword} (\\w+) \\{(\\}|[^]*?^\\})`, 'gm');
  return [...text.matchAll(block)].map(([, name, inside = '']) => ({ name: `${packageName}.${name}`, inside }));
}

const FIELD = /^\s*(?:optional |repeated )?[\w.]+(?:<[^>]+>)? (\w+) = (\d+);/gm;
const METHOD = /^\s*rpc (\w+)\((\w+)\) returns \((stream )?(\w+)\);/gm;

const fieldsWritten = (inside: string) => [...inside.matchAll(FIELD)].map(([, name, number]) => `${name} = ${number}`);
const methodsWritten = (inside: string) =>
  [...inside.matchAll(METHOD)].map(
    ([, name, request, stream, response]) => `${name} ${request} ${stream ?? ''}${response}`,
  );

interface Described {
  type?: { name: string; field: { name: string; number: number }[] };
}

function fieldsDescribed(name: string): string[] | undefined {
  const { type } = descriptors[name] as Described;
  return type?.field.map((field) => `${field.name} = ${field.number}`);
}

function methodsDescribed(name: string): string[] {
  const methods = Object.entries((descriptors[name] ?? {}) as Record<string, MethodDescribed>);
  return methods.map(([method, { requestType, responseStream, responseType }]) => {
    return `${method} ${requestType.type.name} ${responseStream ? 'stream ' : ''}${responseType.type.name}`;
  });
}

interface MethodDescribed {
  requestType: { type: { name: string } };
  responseType: { type: { name: string } };
  responseStream: boolean;
}

test('there is generated code for every .proto file and nothing else', () => {
  const expected = PROTOS.map((path) => path.replace('proto/', 'proto/gen/').replace('.proto', '.ts'));
  expect(filesBelow('proto/gen/guild', /\.ts$/).toSorted()).toEqual(expected.toSorted());
  const written = PROTOS.flatMap((path) =>
    (['message', 'enum', 'service'] as const).flatMap((keyword) => blocks(readText(path), keyword)),
  );
  const described = Object.keys(descriptors).filter((name) => name.startsWith('guild.'));
  expect(described.toSorted()).toEqual(written.map(({ name }) => name).toSorted());
});

test.each(PROTOS)('%s matches its generated code and the descriptors', (path) => {
  const text = readText(path);
  const code = readText(path.replace('proto/', 'proto/gen/').replace('.proto', '.ts'));
  for (const { name, inside } of blocks(text, 'message')) {
    expect([name, fieldsDescribed(name)]).toEqual([name, fieldsWritten(inside)]);
    expect(code).toContain(`export interface ${name.split('.').at(-1)} {`);
  }
  const services = blocks(text, 'service');
  for (const { name, inside } of services) expect(methodsDescribed(name)).toEqual(methodsWritten(inside));
  const paths = [...code.matchAll(/path: "([^"]+)" as const/g)].map(([, method]) => method);
  const written = services.flatMap(({ name, inside }) =>
    methodsWritten(inside).map((method) => `/${name}/${method.split(' ')[0]}`),
  );
  expect(paths).toEqual(written);
});
