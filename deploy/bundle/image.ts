import { programFile } from './programs.ts';

/**
 * What the image's configuration says besides its layers. deploy/docker/Dockerfile has the same values, which a test
 * compares.
 */
export const IMAGE = {
  workingDirectory: '/app',
  /** A numeric user, so that Kubernetes can see that it is not root. */
  user: '1000:1000',
  /** Node runs as the first process, because all our programs handle SIGTERM. */
  entrypoint: ['node'],
  command: [programFile('gateway')],
  environment: {
    NODE_ENV: 'production',
    // MB. The default of 16 is filled by the garbage of the start, which costs each process about 6 MB at rest.
    NODE_OPTIONS: '--max-semi-space-size=4',
    // The C library otherwise keeps freed memory for each of Node's threads, which costs each process about 1.5 MB at rest.
    MALLOC_ARENA_MAX: '2',
    // Probes and Prometheus connect from outside of the container.
    ADMIN_HOST: '0.0.0.0',
  },
  ports: [8080, 8081, 9091, 9090],
} as const;
