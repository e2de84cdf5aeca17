/** How containers of an image start, in the words of the OCI image specification. */
export type ImageSettings = {
  User: string;
  WorkingDir: string;
  Env: string[];
  Entrypoint: string[];
  Cmd: string[];
  ExposedPorts: Record<string, Record<string, never>>;
};

/** The same facts as `deploy/bundle/image.ts` has them for the Dockerfile. */
type Facts = {
  workingDirectory: string;
  user: string;
  entrypoint: readonly string[];
  command: readonly string[];
  environment: Record<string, string>;
  ports: readonly number[];
};

const PATH = 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

export const settingsOf = (facts: Facts): ImageSettings => ({
  User: facts.user,
  WorkingDir: facts.workingDirectory,
  Env: [PATH, ...Object.entries(facts.environment).map(([name, value]) => `${name}=${value}`)],
  Entrypoint: [...facts.entrypoint],
  Cmd: [...facts.command],
  ExposedPorts: Object.fromEntries(facts.ports.map((port) => [`${port}/tcp`, {}])),
});
