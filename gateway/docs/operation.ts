import {
  type Components,
  type JsonSchema,
  mediaTypeOf,
  type OpenApiResponse,
  type Operation,
  type Parameter,
  type Ref,
  resolveRef,
} from '../openapi/document.ts';
import { curlOf } from './curl.ts';
import { type Field, fieldsOf, fieldTable, responseTable } from './fields.ts';
import { type Html, html } from './html.ts';
import { inline, markdown } from './markdown.ts';

/** An operation of the API with its HTTP method and path. */
export interface Endpoint {
  method: string;
  path: string;
  operation: Operation;
}

/** Renders the section of one operation on the documentation page. */
export function operationSection({ method, path, operation }: Endpoint, components: Components): Html {
  const { operationId, summary, description, deprecated } = operation;
  const body = operation.requestBody?.content['application/json'].schema;
  return html`<article id="${operationId}">
<h3><span class="method ${method}">${method.toUpperCase()}</span> <code class="path">${path}</code></h3>
<p class="summary">${inline(summary)}${deprecated ? html` <strong class="warning">deprecated</strong>` : undefined}</p>
${markdown(description)}
${fieldTable('Parameters', parameterFields(operation, components), components)}
${body && fieldTable('Body', fieldsOf(body, components), components)}
${body && variantTables(body, components)}
<h4>Example</h4>
<pre class="call"><code>${curlOf(method, path, operation, components)}</code></pre>
${successOf(operation, components)}
${errorsOf(operation, components)}
</article>
`;
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

function successOf(operation: Operation, components: Components): Html[] {
  return responses(operation, components, (status) => status < 400).map(([status, { response }]) => {
    const { schema, example } = mediaTypeOf(response.content);
    const fields = fieldsOf(schema.properties?.data ?? {}, components);
    return html`<p class="response"><span class="status good">${status}</span> ${inline(response.description)}</p>
<pre><code>${typeof example === 'string' ? example : JSON.stringify(example, null, 2)}</code></pre>
${fields.length > 0 ? html`<details><summary>Fields of <code>data</code></summary>${responseTable(fields, components)}</details>` : undefined}`;
  });
}

/** Renders the errors that are specific to an operation, and a link to the errors that operations share. */
function errorsOf(operation: Operation, components: Components): Html {
  const all = responses(operation, components, (status) => status >= 400);
  const own = all.filter(([, { isShared }]) => !isShared);
  const shared = all.filter(([, { isShared }]) => isShared);
  return html`<details><summary>Errors <span class="quiet">${all.map(([status]) => status).join(' ')}</span></summary>
${errorTable(own.map(([status, { response }]) => [status, response]))}
${shared.length > 0 ? html`<p class="quiet">Also <a href="#errors">${shared.map(([status]) => status).join(', ')}</a>, see common errors.</p>` : undefined}
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

type ResponseEntry = [status: number, entry: { response: OpenApiResponse; isShared: boolean }];

function responses(
  operation: Operation,
  components: Components,
  isWanted: (status: number) => boolean,
): ResponseEntry[] {
  const all = Object.entries<OpenApiResponse | Ref>(operation.responses).map(([status, response]): ResponseEntry => {
    return [
      Number(status),
      { response: resolveRef<OpenApiResponse>(components, response), isShared: '$ref' in response },
    ];
  });
  return all.filter(([status]) => isWanted(status));
}

/** Renders a table of error responses: what each error means and what a client can do about it. */
export function errorTable(responses: [status: number, response: OpenApiResponse][]): Html {
  const rows = responses.flatMap(([status, response]) =>
    Object.values(mediaTypeOf(response.content).examples ?? {}).map(({ summary, description, value }) => {
      const { details } = value as { details: { code: string } };
      return html`<tr><td><span class="status bad">${status}</span> <code>${details.code}</code></td>
<td>${inline(summary)}</td><td>${inline(description ?? '')}</td></tr>\n`;
    }),
  );
  return html`<div class="scroll"><table class="errors"><thead><tr><th>Error</th><th>When</th><th>What to do</th></tr></thead>
<tbody>${rows}</tbody></table></div>`;
}
