// Generates the types of openapi-typescript and the client of @hey-api/openapi-ts from build/openapi.json.
// JSON Schema limits a duration to a pattern, which both generators turn into `string`. Both offer to map a schema to a
// type of one's own; here the schema with the pattern of a duration becomes a template literal type.
import { readFileSync, writeFileSync } from 'node:fs';
import { createClient } from '@hey-api/openapi-ts';
import openapiTS, { astToString } from 'openapi-typescript';
import ts from 'typescript';

const document = JSON.parse(readFileSync('build/openapi.json', 'utf8'));
const { pattern: DURATION } = document.components.schemas.Duration.anyOf[1];

const isDuration = (schema: object): boolean => 'pattern' in schema && schema.pattern === DURATION;

const types = await openapiTS(document, {
  inject: 'export type DurationText = `${number}${"" | "s" | "m" | "h" | "d"}` | "permanent";\n',
  transform: (schema) => (isDuration(schema) ? ts.factory.createTypeReferenceNode('DurationText') : undefined),
});
writeFileSync('build/openapi-typescript.ts', astToString(types));

await createClient({
  input: './build/openapi.json',
  output: { path: 'build/hey-api', module: { extension: '.js' } },
  logs: { level: 'warn' },
  plugins: [
    '@hey-api/client-fetch',
    '@hey-api/sdk',
    {
      name: '@hey-api/typescript',
      '~resolvers': {
        string: ({ $, schema }) => {
          if (!isDuration(schema)) return undefined;
          const units = $.type.or(...['', 's', 'm', 'h', 'd'].map((unit) => $.type.literal(unit)));
          const text = $.type.template().add($.type('number')).add(units);
          return $.type.or(text, $.type.literal('permanent'));
        },
      },
    },
  ],
});
