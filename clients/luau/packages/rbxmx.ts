import type { ModuleNode } from './module-tree.ts';

const SCHEMA = 'xmlns:xmime="http://www.w3.org/2005/05/xmlmime" version="4"';

/** Returns modules as a model file in XML, which Studio inserts with all of them. */
export function toRbxmx(root: ModuleNode): string {
  let referents = 0;
  const item = (node: ModuleNode): string => {
    const className = node.path === undefined ? 'Folder' : 'ModuleScript';
    const source =
      node.path === undefined ? '' : `<ProtectedString name="Source">${text(node.source)}</ProtectedString>`;
    const properties = `<Properties><string name="Name">${text(node.name)}</string>${source}</Properties>`;
    return `<Item class="${className}" referent="RBX${referents++}">${properties}${node.children.map(item).join('')}</Item>\n`;
  };
  return `<roblox ${SCHEMA}>\n${item(root)}</roblox>\n`;
}

const ESCAPES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&apos;' };
const text = (value: string) => value.replaceAll(/[&<>"']/g, (character) => ESCAPES[character] ?? character);
