// Writes the types that openapi-typescript generates: node reference-types.mjs DOCUMENT OUTPUT
import { readFileSync, writeFileSync } from 'node:fs';
import openapiTS, { astToString, stringToAST } from 'openapi-typescript';

const [, , input, output] = process.argv;
const document = JSON.parse(readFileSync(input, 'utf8'));

/** A text with units, such as 7d, is more exact in the client than in JSON Schema. */
const isDuration = ({ pattern }) =>
  pattern !== undefined &&
  String(['permanent', '7d', '2w'].map((text) => RegExp(pattern, 'u').test(text))) === 'true,true,false';

const durationType = (types) => {
  const names = [types]
    .flat()
    .map((type) =>
      type === 'string' ? "import('@guild-data/client').DurationText" : type.replace('integer', 'number'),
    );
  const [statement] = stringToAST(`type T = ${names.join(' | ')};`);
  return statement.type;
};

const nodes = await openapiTS(document, {
  defaultNonNullable: false,
  transform: (schema) => (isDuration(schema) ? durationType(schema.type) : undefined),
});
writeFileSync(output, astToString(nodes));
