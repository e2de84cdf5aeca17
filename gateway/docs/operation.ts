import {
  type Components,
  type OpenApiResponse,
  type Operation,
  type Parameter,
  type Ref,
  resolveRef,
} from '../openapi/document.ts';
import { curlOf } from './curl.ts';
import { answerTable, type Field, fieldsOf, fieldTable } from './fields.ts';
import { type Html, html } from './html.ts';
import { inline, markdown } from './markdown.ts';

/** An operation together with where it stands in the document. */
export interface Endpoint {
  method: string;
  path: string;
  operation: Operation;
}

/** All there is to know of one operation. */
export function operationSection({ method, path, operation }: Endpoint, components: Components): Html {
  const { operationId, summary, description, deprecated } = operation;
  const body = operation.requestBody?.content['application/json'].schema;
  return html`<article id="${operationId}">
<h3><span class="method ${method}">${method.toUpperCase()}</span> <code class="path">${path}</code></h3>
<p class="summary">${inline(summary)}${deprecated ? html` <strong class="warning">deprecated</strong>` : undefined}</p>
${markdown(description)}
${fieldTable('Parameters', parameterFields(operation, components), components)}
${body && fieldTable('Body', fieldsOf(body, components), components)}
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
    const { schema, example } = response.content['application/json'];
    const fields = fieldsOf(schema.properties?.data ?? {}, components);
    return html`<p class="answer"><span class="status good">${status}</span> ${inline(response.description)}</p>
<pre><code>${JSON.stringify(example, null, 2)}</code></pre>
${fields.length > 0 ? html`<details><summary>Fields of <code>data</code></summary>${answerTable(fields, components)}</details>` : undefined}`;
  });
}

/** Errors that are told of this operation in particular, and a link to those that are the same everywhere. */
function errorsOf(operation: Operation, components: Components): Html {
  const all = responses(operation, components, (status) => status >= 400);
  const own = all.filter(([, { isShared }]) => !isShared);
  const shared = all.filter(([, { isShared }]) => isShared);
  return html`<details><summary>Errors <span class="quiet">${all.map(([status]) => status).join(' ')}</span></summary>
${errorTable(own.map(([status, { response }]) => [status, response]))}
${shared.length > 0 ? html`<p class="quiet">Also <a href="#errors">${shared.map(([status]) => status).join(', ')}</a>, as everywhere.</p>` : undefined}
</details>`;
}

type Found = [status: number, found: { response: OpenApiResponse; isShared: boolean }];

function responses(operation: Operation, components: Components, wanted: (status: number) => boolean): Found[] {
  const all = Object.entries<OpenApiResponse | Ref>(operation.responses).map(([status, response]): Found => {
    return [
      Number(status),
      { response: resolveRef<OpenApiResponse>(components, response), isShared: '$ref' in response },
    ];
  });
  return all.filter(([status]) => wanted(status));
}

/** What each error means and what to do about it. */
export function errorTable(answers: [status: number, response: OpenApiResponse][]): Html {
  const rows = answers.flatMap(([status, response]) =>
    Object.values(response.content['application/json'].examples ?? {}).map(({ summary, description, value }) => {
      const { details } = value as { details: { code: string } };
      return html`<tr><td><span class="status bad">${status}</span> <code>${details.code}</code></td>
<td>${inline(summary)}</td><td>${inline(description ?? '')}</td></tr>\n`;
    }),
  );
  return html`<div class="scroll"><table class="errors"><thead><tr><th>Error</th><th>When</th><th>What to do</th></tr></thead>
<tbody>${rows}</tbody></table></div>`;
}
