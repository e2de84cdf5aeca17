import { type JsonSchema, mediaTypeOf, type OpenApiDocument, type Operation, resolveRef } from './document.ts';
import { partsOf } from './schema-parts.ts';

/** Bounds that say no more than that a number is a count or an ID. */
const TRIVIAL = [0, 1];

/**
 * Removes what says nothing in a response from the schemas that only responses have: `minimum` of counts and IDs, which
 * helps clients to send valid requests, and the type of objects, which their properties imply.
 */
export function dropResponseLimits(document: OpenApiDocument): void {
  const { paths, components } = document;
  const operations = Object.values(paths).flatMap((item) => Object.values<Operation>(item));
  const inRequests = new Set<JsonSchema>();
  const visit = (schema: JsonSchema): void => {
    const resolved = resolveRef<JsonSchema>(components, schema);
    if (inRequests.has(resolved)) return;
    inRequests.add(resolved);
    for (const part of partsOf(resolved)) visit(part);
  };
  for (const { requestBody, parameters = [] } of operations) {
    if (requestBody) visit(mediaTypeOf(requestBody.content).schema);
    for (const parameter of parameters) if ('schema' in parameter) visit(parameter.schema);
  }
  for (const parameter of Object.values(components.parameters)) visit(parameter.schema);
  const drop = (schema: JsonSchema): void => {
    if (inRequests.has(schema)) return;
    if (TRIVIAL.some((bound) => bound === schema.minimum)) delete schema.minimum;
    if (schema.type === 'object' && schema.properties) delete schema.type;
    for (const part of partsOf(schema)) drop(part);
  };
  for (const schema of Object.values(components.schemas)) drop(schema);
}
