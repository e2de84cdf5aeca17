import { type Components, componentRef, type OpenApiDocument, type Operation, type Parameter } from './document.ts';

/** Moves the parameters that several operations have in the same form to the components of the document. */
export function shareParameters({ paths, components }: OpenApiDocument): void {
  const operations = Object.values(paths).flatMap((item) => Object.values<Operation>(item));
  const uses = Map.groupBy(operations.flatMap(inlineParameters), (parameter) => JSON.stringify(parameter));
  const names = new Map<string, string>();
  for (const [text, [parameter, ...others]] of uses) {
    if (!parameter || others.length === 0) continue;
    const name = freeName(parameter, components);
    components.parameters[name] = parameter;
    names.set(text, name);
  }
  for (const operation of operations) {
    operation.parameters = operation.parameters?.map((parameter) => {
      const name = names.get(JSON.stringify(parameter));
      return name === undefined ? parameter : componentRef('parameters', name);
    });
  }
}

const inlineParameters = ({ parameters = [] }: Operation): Parameter[] =>
  parameters.filter((parameter): parameter is Parameter => !('$ref' in parameter));

/** A name such as `LimitQuery`. Parameters of the same name that differ are numbered. */
function freeName({ name, in: place }: Parameter, { parameters }: Components): string {
  const words = [...name.split('_'), place];
  const base = words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
  let free = base;
  for (let number = 2; free in parameters; number++) free = base + number;
  return free;
}
