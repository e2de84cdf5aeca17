import type { ModuleNode } from './module-tree.ts';

// The binary model format: a header, then chunks. Strings are stored without compression, which every reader accepts.

const MAGIC = Buffer.from('<roblox!\x89\xff\r\n\x1a\n', 'latin1');
const FORMAT_VERSION = 0;
const STRING_TYPE = 1;
const END = '</roblox>';

interface Instance {
  node: ModuleNode;
  referent: number;
  /** -1 for the root. */
  parent: number;
}

/** Returns modules as a model file in the binary format. */
export function toRbxm(root: ModuleNode): Buffer {
  const instances = numbered(root);
  const modules = instances.filter(({ node }) => node.path !== undefined);
  const folders = instances.filter(({ node }) => node.path === undefined);
  const classes = [
    { name: 'ModuleScript', members: modules },
    { name: 'Folder', members: folders },
  ].filter(({ members }) => members.length > 0);
  return Buffer.concat([
    MAGIC,
    u16(FORMAT_VERSION),
    i32(classes.length),
    i32(instances.length),
    Buffer.alloc(8),
    ...classes.map(({ name, members }, id) => chunk('INST', instanceChunk(id, name, members))),
    ...classes.map(({ members }, id) =>
      chunk(
        'PROP',
        stringsChunk(
          id,
          'Name',
          members.map(({ node }) => node.name),
        ),
      ),
    ),
    chunk(
      'PROP',
      stringsChunk(
        0,
        'Source',
        modules.map(({ node }) => node.source),
      ),
    ),
    chunk('PRNT', parentChunk(instances)),
    chunk('END\0', Buffer.from(END)),
  ]);
}

function numbered(root: ModuleNode): Instance[] {
  const instances: Instance[] = [];
  const add = (node: ModuleNode, parent: number) => {
    const referent = instances.length;
    instances.push({ node, referent, parent });
    for (const child of node.children) add(child, referent);
  };
  add(root, -1);
  return instances;
}

function chunk(name: string, data: Buffer): Buffer {
  const compressedLength = 0;
  return Buffer.concat([Buffer.from(name, 'latin1'), u32(compressedLength), u32(data.length), u32(0), data]);
}

function instanceChunk(classId: number, name: string, members: readonly Instance[]): Buffer {
  const isService = Buffer.from([0]);
  const referents = referentArray(members.map(({ referent }) => referent));
  return Buffer.concat([u32(classId), string(name), isService, u32(members.length), referents]);
}

const stringsChunk = (classId: number, property: string, values: readonly string[]): Buffer =>
  Buffer.concat([u32(classId), string(property), Buffer.from([STRING_TYPE]), ...values.map(string)]);

function parentChunk(instances: readonly Instance[]): Buffer {
  const version = Buffer.from([0]);
  const children = referentArray(instances.map(({ referent }) => referent));
  const parents = referentArray(instances.map(({ parent }) => parent));
  return Buffer.concat([version, u32(instances.length), children, parents]);
}

/** Each number is stored as the difference to the previous one, and the bytes of all numbers are interleaved. */
function referentArray(referents: readonly number[]): Buffer {
  const differences = referents.map((referent, index) => referent - (referents[index - 1] ?? 0));
  const columns = [24, 16, 8, 0].map((shift) => differences.map((value) => (zigzag(value) >>> shift) & 0xff));
  return Buffer.from(columns.flat());
}

/** ZigZag encoding: maps small negative numbers to small positive ones. */
const zigzag = (value: number) => (value << 1) ^ (value >> 31);

function string(value: string): Buffer {
  const bytes = Buffer.from(value);
  return Buffer.concat([u32(bytes.length), bytes]);
}

function u16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16LE(value);
  return bytes;
}

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}

function i32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32LE(value);
  return bytes;
}
