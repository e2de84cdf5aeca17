import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { inOrderOfUse, type ModuleNode, readModuleTree } from '../packages/module-tree.ts';
import { bundle, MAX_CHARACTERS } from '../packages/one-file.ts';
import { toRbxm } from '../packages/rbxm.ts';
import { toRbxmx } from '../packages/rbxmx.ts';
import { SOURCE, startPlace, success } from './fixture.ts';

const root = readModuleTree(SOURCE, 'GuildData');

/** All instances with their parent, class and source, in the order of the tree. */
function instancesOf(
  node: ModuleNode,
  parent = '',
): { name: string; parent: string; className: string; source: string }[] {
  const className = node.path === undefined ? 'Folder' : 'ModuleScript';
  const below = node.children.flatMap((child) => instancesOf(child, node.name));
  return [{ name: node.name, parent, className, source: node.source }, ...below];
}

test('the one file works like the tree of modules', async () => {
  const source = bundle(root);
  const script = `
    local names = {}
    for name in guild.api :: any do
      table.insert(names, name)
    end
    local methods = {}
    for name in getmetatable(guild :: any).__index do
      table.insert(methods, name)
    end
    return { version = GuildData.VERSION, names = names, methods = methods,
      result = guild.api.banPlayer({ game_id = 1, reason = "x" }) }`;
  const options = { respond: () => success({ id: 1 }) };
  const one = await startPlace({ ...options, modules: [{ name: 'GuildData', source }] });
  const tree = await startPlace(options);
  const sorted = ({ names, methods, ...rest }: { names: string[]; methods: string[] }) => ({
    ...rest,
    names: names.toSorted(),
    methods: methods.toSorted(),
  });
  const result = sorted(await one.run(script));
  expect(result).toEqual(sorted(await tree.run(script)));
  expect(result.names.length).toBeGreaterThan(60);
  expect(one.engine.requests).toHaveLength(1);
});

test('the one file requires nothing, and has every module once', () => {
  const source = bundle(root);
  expect(source).not.toMatch(/\brequire\(|\bscript\./);
  const headings = [...source.matchAll(/^-- -{20} (\w+) \(/gm)].map(([, name]) => name);
  expect(headings).toEqual(inOrderOfUse(root).map(({ name }) => name));
  expect(headings.at(-1)).toBe('GuildData');
  expect(source.length).toBeLessThan(MAX_CHARACTERS);
});

test('the XML model holds every module', () => {
  const xml = toRbxmx(root);
  const unescape = (text: string) =>
    text.replaceAll(
      /&(amp|lt|gt|quot|apos);/g,
      (_, name: string) => ({ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" })[name] ?? '',
    );
  const item =
    /<Item class="(\w+)" referent="RBX\d+"><Properties><string name="Name">([^<]*)<\/string>(?:<ProtectedString name="Source">([^<]*)<\/ProtectedString>)?<\/Properties>|<\/Item>/g;
  const open: string[] = [];
  const found = [...xml.matchAll(item)].flatMap(([text, className = '', name = '', source = '']) => {
    if (text === '</Item>') {
      open.pop();
      return [];
    }
    const instance = { name: unescape(name), parent: open.at(-1) ?? '', className, source: unescape(source) };
    open.push(instance.name);
    return [instance];
  });
  expect(open).toEqual([]);
  expect(found).toEqual(instancesOf(root));
});

test('the binary model holds every module', () => {
  expect(readRbxm(toRbxm(root))).toEqual(instancesOf(root));
});

test('all packages have the version that the module reports', () => {
  const read = (path: string) => readFileSync(join(SOURCE, path), 'utf8');
  const [, version] = /Config\.VERSION = "([^"]+)"/.exec(read('Config.luau')) ?? [];
  expect(version).toMatch(/^\d+\.\d+\.\d+$/);
  for (const path of ['../wally.toml', '../pesde.toml']) expect(read(path)).toContain(`version = "${version}"`);
});

/** Reads the parts of the binary format that the package uses: uncompressed chunks and strings. */
function readRbxm(file: Buffer) {
  expect(file.subarray(0, 14)).toEqual(Buffer.from('<roblox!\x89\xff\r\n\x1a\n', 'latin1'));
  const classes = new Map<number, { name: string; members: number[] }>();
  const instances = new Map<number, { name: string; parent: string; className: string; source: string }>();
  const parents = new Map<number, number>();
  for (const { name, data } of chunksOf(file.subarray(32))) {
    if (name === 'INST') {
      const [className, after] = readString(data, 4);
      const members = readReferents(data.subarray(after + 5), data.readUInt32LE(after + 1));
      classes.set(data.readUInt32LE(0), { name: className, members });
      for (const each of members) instances.set(each, { name: '', parent: '', className, source: '' });
    } else if (name === 'PROP') {
      const [property, after] = readString(data, 4);
      let offset = after + 1;
      for (const each of classes.get(data.readUInt32LE(0))?.members ?? []) {
        const [value, next] = readString(data, offset);
        Object.assign(instances.get(each) ?? {}, { [property.toLowerCase()]: value });
        offset = next;
      }
    } else if (name === 'PRNT') {
      const count = data.readUInt32LE(1);
      const of = readReferents(data.subarray(5 + 4 * count), count);
      for (const [index, child] of readReferents(data.subarray(5), count).entries())
        parents.set(child, of[index] ?? -1);
    }
  }
  expect(file.readInt32LE(16)).toBe(classes.size);
  expect(file.readInt32LE(20)).toBe(instances.size);
  return [...instances]
    .toSorted(([a], [b]) => a - b)
    .map(([id, instance]) => ({ ...instance, parent: instances.get(parents.get(id) ?? -1)?.name ?? '' }));
}

function* chunksOf(file: Buffer) {
  for (let offset = 0; offset < file.length; ) {
    const length = file.readUInt32LE(offset + 8);
    expect(file.readUInt32LE(offset + 4)).toBe(0);
    const data = file.subarray(offset + 16, offset + 16 + length);
    yield { name: file.toString('latin1', offset, offset + 4), data };
    offset += 16 + length;
  }
}

function readString(data: Buffer, offset: number): [string, number] {
  const end = offset + 4 + data.readUInt32LE(offset);
  return [data.toString('utf8', offset + 4, end), end];
}

function readReferents(data: Buffer, count: number): number[] {
  let last = 0;
  return Array.from({ length: count }, (_, index) => {
    const bytes = [0, 1, 2, 3].map((column) => data[column * count + index] ?? 0);
    const value = Buffer.from(bytes).readUInt32BE();
    last += (value >>> 1) ^ -(value & 1);
    return last;
  });
}
