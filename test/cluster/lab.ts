import { existsSync, mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { pathOf, ROOT } from '#kit/files.ts';
import { run } from './kubectl.ts';
import { shareCpuAsNodesDo } from './node-shares.ts';

/** The images that the test installs: this code, and this code with one more migration. */
export type Images = { repository: string; tag: string; nextTag: string; pullPolicy: string };

export type Cluster = { images: Images; close: () => Promise<void> };

/**
 * The cluster of KUBECONFIG with the images of IMAGE_REPOSITORY, IMAGE_TAG and IMAGE_NEXT_TAG; otherwise the lab,
 * with LAB_DIR's scripts, LAB_BIN's programs and images built here. A lab that is already running is not stopped.
 */
export async function openCluster(report: (text: string) => void): Promise<Cluster> {
  const { KUBECONFIG, LAB_STATE, IMAGE_REPOSITORY, IMAGE_TAG, IMAGE_NEXT_TAG } = process.env;
  if (IMAGE_REPOSITORY && IMAGE_TAG && IMAGE_NEXT_TAG) {
    const images = {
      repository: IMAGE_REPOSITORY,
      tag: IMAGE_TAG,
      nextTag: IMAGE_NEXT_TAG,
      pullPolicy: 'IfNotPresent',
    };
    return { images, close: async () => undefined };
  }
  if (KUBECONFIG && !LAB_STATE)
    throw new Error('with KUBECONFIG set IMAGE_REPOSITORY, IMAGE_TAG and IMAGE_NEXT_TAG too');
  const lab = labFolder();
  const state = resolve(LAB_STATE ?? pathOf('.cache/lab'));
  const wasUp = existsSync(join(state, 'pids'));
  if (!wasUp) await bringUp(lab, state, report);
  process.env['KUBECONFIG'] = join(state, 'pki', 'admin.conf');
  let restoreShares: () => void = () => undefined;
  const close = async () => void (wasUp ? restoreShares() : await run(join(lab, 'down.sh'), [state, '--purge']));
  try {
    restoreShares = shareCpuAsNodesDo(state, report);
    return { images: await buildImages(lab, state, report), close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The folder of up.sh: LAB_DIR, or the folder next to the repository. */
export function labFolder(): string {
  const lab = resolve(process.env['LAB_DIR'] ?? pathOf('../shared/lab'));
  if (!existsSync(join(lab, 'up.sh'))) throw new Error(`${lab} has no up.sh: set LAB_DIR`);
  return lab;
}

async function bringUp(lab: string, state: string, report: (text: string) => void): Promise<void> {
  const programs = process.env['LAB_BIN'];
  if (!programs) throw new Error('set KUBECONFIG, or LAB_BIN for a cluster on this machine');
  mkdirSync(state, { recursive: true });
  const began = Date.now();
  process.env['LAB_ETCD_FLAGS'] ??= '--unsafe-no-fsync';
  await run(join(lab, 'up.sh'), [programs, state, 'node']);
  report(`cluster up after ${seconds(began)} s`);
}

async function buildImages(lab: string, state: string, report: (text: string) => void): Promise<Images> {
  const began = Date.now();
  await run(pathOf('test/cluster/base-images.sh'), [lab, state]);
  const image = join(lab, 'image.sh');
  const dockerfile = pathOf('deploy/docker/Dockerfile');
  await run(image, [state, 'build', ROOT, 'guild-data:cluster', '-f', dockerfile]);
  await run(image, [state, 'build', pathOf('test/cluster/next'), 'guild-data:cluster-next']);
  report(`images built and brought in after ${seconds(began)} s`);
  report(`image ${await imageSize(state)}`);
  return { repository: 'guild-data', tag: 'cluster', nextTag: 'cluster-next', pullPolicy: 'IfNotPresent' };
}

/** Size in bytes of Debian's image, for which the lab has a substitute. */
const DEBIAN_SLIM = 79e6;
const LARGEST = 250e6;

/** Returns the size; throws if it is too large. */
async function imageSize(state: string): Promise<string> {
  process.env['DOCKER_HOST'] = `unix://${join(state, 'docker', 'docker.sock')}`;
  const size = async (name: string) => Number(await run('docker', ['image', 'inspect', '--format', '{{.Size}}', name]));
  const own = (await size('guild-data:cluster')) - (await size('debian:trixie-slim'));
  const whole = own + DEBIAN_SLIM;
  if (whole > LARGEST) throw new Error(`the image has ${Math.round(whole / 1e6)} MB`);
  return `of ${Math.round(own / 1e6)} MB on a base of ${DEBIAN_SLIM / 1e6} MB`;
}

/** The seconds since a time of Date.now(). */
export const seconds = (began: number) => ((Date.now() - began) / 1000).toFixed(1);
