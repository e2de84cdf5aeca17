import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Namespace } from './kubectl.ts';
import type { Images } from './lab.ts';

/** A program of this folder that runs in a pod with the image's Node. */
interface Program {
  /** Of the pod; the program is the file `<name>-pod.ts`. */
  name: string;
  images: Images;
  port: number;
  cpu: string;
  env?: Record<string, string>;
  /** Files in the folder /files. */
  files?: Record<string, string>;
}

/** Starts the pod and waits until its program listens. */
export async function startProgram(namespace: Namespace, program: Program): Promise<void> {
  const { name, files = {} } = program;
  const code = readFileSync(join(import.meta.dirname, `${name}-pod.ts`), 'utf8');
  const metadata = { name };
  await namespace.apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { 'program.ts': code } });
  await namespace.apply({ apiVersion: 'v1', kind: 'Secret', metadata, stringData: files });
  await namespace.apply({ apiVersion: 'v1', kind: 'Pod', ...podOf(program) });
  await namespace.kubectl('wait', '--for=condition=Ready', `pod/${name}`, '--timeout=180s');
}

function podOf({ name, images, port, cpu, env = {} }: Program) {
  const securityContext = {
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
  };
  return {
    metadata: { name, labels: { app: name } },
    spec: {
      automountServiceAccountToken: false,
      terminationGracePeriodSeconds: 5,
      securityContext: { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: 'RuntimeDefault' } },
      containers: [
        {
          name,
          image: `${images.repository}:${images.tag}`,
          imagePullPolicy: images.pullPolicy,
          args: ['/program/program.ts'],
          env: Object.entries(env).map(([variable, value]) => ({ name: variable, value })),
          readinessProbe: { httpGet: { path: '/', port }, periodSeconds: 1 },
          resources: { requests: { cpu, memory: '128Mi' }, limits: { memory: '512Mi' } },
          securityContext,
          volumeMounts: [
            { name: 'program', mountPath: '/program' },
            { name: 'files', mountPath: '/files' },
          ],
        },
      ],
      volumes: [
        { name: 'program', configMap: { name } },
        { name: 'files', secret: { secretName: name } },
      ],
    },
  };
}
