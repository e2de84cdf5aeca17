import { componentRef, type JsonSchema, mediaTypeOf, type OpenApiDocument, type Operation } from './document.ts';
import { schemaNames } from './operation-id.ts';

/**
 * Puts the schemas of bodies and of `data` that only one operation has into that operation: their names say no more than
 * the name of the operation, and each name would be in the document twice.
 */
export function inlineSchemas(document: OpenApiDocument): void {
  const { schemas } = document.components;
  const text = JSON.stringify(document);
  const isUsedOnce = ($ref: string) => text.split(`"${$ref}"`).length === 2;
  const operations = Object.values(document.paths).flatMap((item) => Object.values<Operation>(item));
  for (const operation of operations) {
    const used = schemasOf(operation);
    for (const name of schemaNames(operation.operationId)) {
      const { $ref } = componentRef('schemas', name);
      const schema = used.find((each) => each.$ref === $ref);
      if (!schema || !schemas[name] || !isUsedOnce($ref)) continue;
      delete schema.$ref;
      Object.assign(schema, schemas[name]);
      delete schemas[name];
    }
  }
}

/** Returns the schemas of the body and of the `data` of an operation. */
function schemasOf({ requestBody, responses }: Operation): JsonSchema[] {
  const body = requestBody ? [mediaTypeOf(requestBody.content).schema] : [];
  const data = Object.values(responses).flatMap((response) =>
    'content' in response ? (mediaTypeOf(response.content).schema.properties?.['data'] ?? []) : [],
  );
  return [...body, ...data];
}

/**
 * Puts schemas of objects that are a part of only one other schema into that one. Enums, and objects that are also read on
 * their own, keep their names, because programs use them.
 */
export function inlineParts({ components, ...rest }: OpenApiDocument): void {
  const { schemas } = components;
  const text = JSON.stringify({ components, ...rest });
  const inline = (part: JsonSchema | undefined): void => {
    const name = part?.$ref?.split('/').at(-1) ?? '';
    const schema = schemas[name];
    if (!part || !schema || schema.enum || text.split(`"${part.$ref}"`).length !== 2) return;
    delete schemas[name];
    delete part.$ref;
    const own = { ...part };
    Object.assign(part, schema, own);
  };
  for (const schema of Object.values(schemas)) {
    for (const property of Object.values(schema.properties ?? {})) {
      inline(property);
      inline(property.items);
    }
  }
}
