import type { OpenApiDocument } from '../openapi/document.ts';
import type { Frame } from './layout.ts';

/** Writes llms.txt (https://llmstxt.org): all pages with one line each, for programs that read the documentation. */
export function llmsText({ info, servers }: OpenApiDocument, { groups }: Frame): string {
  const url = servers[0]?.url ?? '';
  const line = (path: string, title: string, description: string) => `- [${title}](${url}${path}): ${description}`;
  const sections = groups.map(({ title, pages }) =>
    [`## ${title}`, '', ...pages.map((page) => line(page.path, page.title, page.description))].join('\n'),
  );
  return `# ${info.title} API

> ${info.summary}. REST, JSON; a request needs an API key in the header X-API-Key.

${sections.join('\n\n')}

## For programs

${line('/openapi.json', 'OpenAPI document', 'Every operation with its schemas, OpenAPI 3.1')}
${line('/postman.json', 'Postman collection', 'Every operation as a request that can be sent')}
`;
}
