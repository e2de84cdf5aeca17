import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { readModuleTree } from './packages/module-tree.ts';
import { bundle } from './packages/one-file.ts';
import { toRbxm } from './packages/rbxm.ts';
import { toRbxmx } from './packages/rbxmx.ts';

// Writes the packages that are files of their own into `dist`: `npm run clients`. Wally, pesde and Rojo use `src`.

const DIST = join(import.meta.dirname, 'dist');
const NAME = 'GuildData';

const root = readModuleTree(join(import.meta.dirname, 'src'), NAME);
mkdirSync(DIST, { recursive: true });
writeFileSync(join(DIST, `${NAME}.luau`), bundle(root));
writeFileSync(join(DIST, `${NAME}.rbxm`), toRbxm(root));
writeFileSync(join(DIST, `${NAME}.rbxmx`), toRbxmx(root));
