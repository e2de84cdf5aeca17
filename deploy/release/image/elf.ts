const MACHINES = { 0x3e: 'amd64', 0xb7: 'arm64' } as const;

/** The architecture for which a program or library was built; undefined for every other file. */
export function elfArchitecture(content: Buffer): 'amd64' | 'arm64' | 'other' | undefined {
  if (content.length < 20 || content.readUInt32BE(0) !== 0x7f454c46) return undefined;
  const isLittleEndian = content[5] === 1;
  const machine = isLittleEndian ? content.readUInt16LE(18) : content.readUInt16BE(18);
  return Object.entries(MACHINES).find(([number]) => Number(number) === machine)?.[1] ?? 'other';
}
