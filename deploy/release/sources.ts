import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { writeApp } from '../bundle/app.ts';
import { IMAGE } from '../bundle/image.ts';
import { productionBill } from '../supply-chain/sbom.ts';
import { cacheOf } from './base/available.ts';
import { baseLayer } from './base/layer.ts';
import { readDebianLock, snapshotTime } from './base/lock.ts';
import { nodeFiles, nodePackage } from './base/node.ts';
import { imageBill } from './evidence/bill.ts';
import { applicationFiles } from './image/application.ts';
import type { Layer, Origin } from './image/image.ts';
import { settingsOf } from './image/settings.ts';
import { sha256 } from './oci/descriptor.ts';
import type { Sources } from './release.ts';

const packageShape = z.object({ name: z.string(), version: z.string() });

/** Collects what a release of the repository is made from; writes the application into an empty folder. */
export async function readSources(repository: string, app: string, origin: Origin): Promise<Sources> {
  const debian = readDebianLock();
  const node = { amd64: nodePackage(repository, 'amd64'), arm64: nodePackage(repository, 'arm64') };
  const settings = settingsOf(IMAGE);
  const npm = (await writeApp(app)).map((folder) => packageName(join(repository, folder)));
  const application: Layer = {
    comment: `guild-data ${origin.version}`,
    // The time of a file is part of the ETag with which browsers cache it.
    modified: origin.committed,
    entries: applicationFiles(app, settings.WorkingDir),
  };
  const cache = cacheOf(repository);
  return {
    origin,
    settings,
    layersOf: async (architecture) => [
      await baseLayer(debian, architecture, cache),
      {
        comment: `Node ${node[architecture].version}`,
        modified: snapshotTime(debian),
        entries: nodeFiles(node[architecture], cache),
      },
      application,
    ],
    chart: join(repository, 'charts', 'guild-data'),
    bill: imageBill(productionBill(), { npm, node: node.amd64, debian }, origin),
    materials: { lockfile: sha256(readFileSync(join(repository, 'package-lock.json'))), debian, node },
  };
}

function packageName(folder: string): string {
  const { name, version } = packageShape.parse(JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')));
  return `${name}@${version}`;
}
