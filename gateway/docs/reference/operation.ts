import {
  type Components,
  type Example,
  type JsonSchema,
  mediaTypeOf,
  type OpenApiDocument,
  type OpenApiResponse,
  type Operation,
  type Parameter,
  type Ref,
  resolveRef,
} from '../../openapi/document.ts';
import { meaningsIn } from '../../openapi/error-responses.ts';
import { exampleOf } from '../../openapi/examples.ts';
import type { Tabs } from '../examples.ts';
import { type Html, html } from '../html.ts';
import { inline, markdown, table } from '../markdown.ts';
import { curlOf } from './curl.ts';
import { choicesOf, type Field, fieldsOf, fieldTable, responseTable } from './fields.ts';
import { luauOf } from './luau.ts';
import { exampleRequest } from './request.ts';
import { RESPONSES } from './responses.ts';
import type { Endpoint } from './topics.ts';
import { typescriptOf } from './typescript.ts';

/** Renders the section of one operation on a page of the reference. */
export function operationSection(endpoint: Endpoint, document: OpenApiDocument, tabs: Tabs): Html {
  const { components } = document;
  const { method, path, operation } = endpoint;
  const { operationId, summary, description, deprecated } = operation;
  const body = operation.requestBody?.content['application/json'].schema;
  const request = exampleRequest(endpoint, components);
  const example = { sh: curlOf(request), luau: luauOf(request), ts: typescriptOf(request) };
  return html`<article id="${operationId}">
<h2><span class="method ${method}">${method.toUpperCase()}</span> <code class="path">${path}</code></h2>
<p class="summary">${inline(summary)}${deprecated ? html` <strong class="warning">deprecated</strong>` : undefined}</p>
${markdown([description === `${summary}.` ? '' : description, accessOf(operation, document)].filter(Boolean).join('\n\n'))}
${fieldTable('Parameters', parameterFields(operation, components), components)}
${body && fieldTable('Body', fieldsOf(body, components), components)}
${body && variantTables(resolveRef<JsonSchema>(components, body), components)}
<h3>Example</h3>
${tabs.render(`${summary}: example`, example)}
${successOf(operation, components)}
${errorsOf(operation, components)}
</article>
`;
}

/**
 * Returns the names of the parameters and fields of an operation, and the values of the enums among them. Headers are left
 * out: nearly all operations have the same.
 */
export function namesIn(operation: Operation, components: Components): string[] {
  const data = Object.values<OpenApiResponse | Ref>(operation.responses).flatMap((response) =>
    '$ref' in response ? [] : (mediaTypeOf(response.content).schema.properties?.['data'] ?? []),
  );
  const schemas = [operation.requestBody?.content['application/json'].schema ?? [], data].flat();
  const fields = schemas.flatMap((schema) => fieldsOf(schema, components));
  const parameters = parameterFields(operation, components).filter(({ place }) => place !== 'header');
  return [...parameters, ...fields].flatMap(({ name, schema }) => [name, ...choicesOf(schema, components)]);
}

/** Says which scope an operation needs, and which rate limit it has. */
function accessOf(operation: Operation, document: OpenApiDocument): string | undefined {
  if (operation.security?.length === 0) return undefined;
  const { 'x-required-scope': scope, 'x-rate-limit': category } = operation;
  const limit = document['x-rate-limits'][category ?? ''];
  const counted = limit
    ? `Limit: ${limit.limit} requests per ${limit.window} s per ${limit.subject} (\`${category}\`).`
    : "No limit except the key's own.";
  return `${scope ? `Scope: \`${scope}\`.` : 'Any valid key.'} ${counted}`;
}

function parameterFields(operation: Operation, components: Components): Field[] {
  const parameters = (operation.parameters ?? []).map((parameter) => resolveRef<Parameter>(components, parameter));
  return parameters.map(({ name, in: place, required, description, schema }) => ({
    name,
    need: required ? 'required' : 'optional',
    place,
    schema: { ...schema, description },
  }));
}

/**
 * Renders the success responses of an operation with an example: a recorded response if there is one, otherwise the example of
 * the document.
 */
function successOf({ operationId, responses }: Operation, components: Components): Html[] {
  const recorded = RESPONSES[operationId];
  return Object.entries<OpenApiResponse | Ref>(responses).flatMap(([status, response]) => {
    if ('$ref' in response) return [];
    const { schema, example } = mediaTypeOf(response.content);
    const data = schema.properties?.['data'] ?? {};
    const fields = fieldsOf(data, components);
    const body = {
      status: 'success',
      code: Number(status),
      message: response.description,
      data: recorded?.status === Number(status) ? recorded.data : exampleOf(data, components),
    };
    return [
      html`<p class="response"><span class="status good">${status}</span> ${inline(response.description)}</p>
<pre tabindex="0"><code>${typeof example === 'string' ? example : JSON.stringify(body, null, 2)}</code></pre>
${fields.length > 0 ? html`<details><summary>Fields of <code>data</code></summary>${responseTable(fields, components)}</details>` : undefined}`,
    ];
  });
}

/** Renders the errors that mean something special on an operation, and a link to those that mean the same everywhere. */
function errorsOf({ responses }: Operation, components: Components): Html {
  const references = Object.values(responses).filter((response): response is Ref => '$ref' in response);
  const own = references.flatMap((reference) => ownErrors(reference, components));
  const shared = errorsIn(
    references.map((reference) => resolveRef<OpenApiResponse>(components, reference)),
    components,
  );
  const all = [...new Set(shared.map(({ status }) => status))].sort((a, b) => a - b);
  return html`<details><summary>Errors <span class="quiet">${all.join(' ')}</span></summary>
${own.length > 0 ? errorTable(own) : undefined}
<p class="quiet">${own.length > 0 ? 'Also' : 'See'} the <a href="/docs/errors">common errors</a>.</p>
</details>`;
}

/** Renders a table for each variant of a body whose further fields depend on one field, such as `type`. */
function variantTables({ allOf = [] }: JsonSchema, components: Components): (Html | undefined)[] {
  const variants = allOf.flatMap(({ oneOf = [] }) => oneOf);
  return variants.map((variant) => {
    const fields = fieldsOf(variant, components);
    const [first, ...others] = fields;
    const { enum: choices, const: only } = first?.schema ?? {};
    const title = `Body if ${first?.name} is ${(choices ?? [only]).map(String).join(', ')}`;
    return fieldTable(title, others, components);
  });
}

/** An error as a row of a table: what it means and what a client can do about it. */
interface ErrorRow {
  status: number;
  code: string;
  meaning: string;
  advice: string;
}

/** Returns the errors whose meaning a reference states, because it is special on its operation. */
function ownErrors(reference: Ref, components: Components): ErrorRow[] {
  const known = errorsIn([resolveRef<OpenApiResponse>(components, reference)], components);
  const codes = known.map(({ code }) => code);
  // Every write has the conflict of idempotency keys, which the rules for all routes describe.
  if (reference.description === undefined && !codes.includes('CONFLICT')) return known;
  return meaningsIn(reference.description ?? '', codes).flatMap(([code, meaning]) => {
    const error = known.find((row) => row.code === code);
    return error ? [{ ...error, meaning }] : [];
  });
}

/** Returns the errors in the examples of responses, each once. */
export function errorsIn(responses: readonly OpenApiResponse[], components: Components): ErrorRow[] {
  const examples = responses.flatMap(({ content }) => Object.entries(mediaTypeOf(content).examples ?? {}));
  const rows = [...new Map(examples).values()].map((example) => {
    const { summary, description, value } = resolveRef<Example>(components, example);
    const { code, message, details } = value as { code: number; message: string; details: { code: string } };
    return { status: code, code: details.code, meaning: summary ?? message, advice: description ?? '' };
  });
  return rows.sort((a, b) => a.status - b.status);
}

/** Renders a table of errors. */
export function errorTable(errors: readonly ErrorRow[]): Html {
  const rows = errors.map(({ status, code, meaning, advice }) => [
    html`<span class="status bad">${status}</span> <code>${code}</code>`,
    inline(meaning),
    inline(advice),
  ]);
  return table(['Error', 'When', 'What to do'], rows);
}
