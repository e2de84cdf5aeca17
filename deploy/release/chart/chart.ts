import { readdirSync, readFileSync } from 'node:fs';
import { join, matchesGlob, relative } from 'node:path';
import { gzipSync } from 'node:zlib';
import { parse, parseDocument } from 'yaml';
import { z } from 'zod';
import { type Entry, file } from '../archive/entry.ts';
import { tarOf } from '../archive/tar.ts';
import { notes, type Origin } from '../image/image.ts';
import { ANNOTATION, type Descriptor, MEDIA } from '../oci/descriptor.ts';
import type { Layout } from '../oci/layout.ts';

/** The media types with which Helm stores a chart in a registry. */
export const CHART = {
  config: 'application/vnd.cncf.helm.config.v1+json',
  content: 'application/vnd.cncf.helm.chart.content.v1.tar+gzip',
} as const;

const metadataShape = z.looseObject({
  apiVersion: z.literal('v2'),
  name: z.string(),
  version: z.string(),
  appVersion: z.string(),
  description: z.string(),
});

export type ChartMetadata = z.output<typeof metadataShape>;

/** The repository of a registry from which the chart takes its image. */
export type ImageRepository = { registry: string; repository: string };

export type PackagedChart = { metadata: ChartMetadata; archive: Buffer };

/**
 * Packages a chart as `helm package` does, and the same files always as the same bytes. With an image repository, the
 * values of the package name it.
 */
export function packageChart(folder: string, modified: Date, image?: ImageRepository): PackagedChart {
  const read = (path: string): Buffer => readFileSync(join(folder, path));
  const metadata = metadataShape.parse(parse(read('Chart.yaml').toString()));
  const entries = chartFiles(folder).map((path): Entry => {
    const content = path === 'values.yaml' && image ? withImage(read(path).toString(), image) : read(path);
    return file(`${metadata.name}/${path}`, content);
  });
  return { metadata, archive: gzipSync(tarOf(entries, modified), { level: 9 }) };
}

function withImage(values: string, image: ImageRepository): string {
  const document = parseDocument(values);
  for (const [name, value] of Object.entries(image)) document.setIn(['image', name], value);
  return document.toString({ lineWidth: 0 });
}

/** Helm expects Chart.yaml first. */
function chartFiles(folder: string): string[] {
  const isIgnored = ignoring(readFileSync(join(folder, '.helmignore'), 'utf8'));
  const paths = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((each) => each.isFile())
    .map((each) => relative(folder, join(each.parentPath, each.name)))
    .filter((path) => path !== 'Chart.yaml' && !isIgnored(path));
  return ['Chart.yaml', ...paths.toSorted()];
}

/** Supports names and patterns of files, and names of folders, which is what our `.helmignore` has. */
function ignoring(rules: string): (path: string) => boolean {
  const patterns = rules.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('#'));
  const unsupported = patterns.find((pattern) => pattern.startsWith('!') || pattern.replace(/\/$/, '').includes('/'));
  if (unsupported) throw new Error(`.helmignore has a form that is not supported: ${unsupported}`);
  return (path) => {
    const parts = path.split('/');
    return patterns.some((pattern) =>
      pattern.endsWith('/')
        ? parts.slice(0, -1).includes(pattern.slice(0, -1))
        : parts.some((part) => matchesGlob(part, pattern)),
    );
  };
}

/** Adds a packaged chart as `helm push` does, under the tag of its version. */
export function addChart(layout: Layout, { metadata, archive }: PackagedChart, origin: Origin): Descriptor {
  return layout.addManifest(
    {
      schemaVersion: 2,
      mediaType: MEDIA.manifest,
      config: layout.addJson(CHART.config, metadata),
      layers: [layout.add(CHART.content, archive)],
      annotations: {
        ...notes(origin),
        [ANNOTATION.title]: metadata.name,
        [ANNOTATION.description]: metadata.description,
      },
    },
    metadata.version,
  );
}
