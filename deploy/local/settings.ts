import { join, resolve } from 'node:path';

export type Settings = {
  dataFolder: string;
  gatewayPort: number;
  /** Servers of the operator's own; undefined where `npm start` brings them. */
  databaseUrl: string | undefined;
  databaseDirectUrl: string | undefined;
  redisUrl: string | undefined;
};

/** Reads the environment variables of `npm start`; throws one error that names all faults. */
export function readSettings(environment: NodeJS.ProcessEnv, repository: string): Settings {
  const faults: string[] = [];
  const port = environment['GATEWAY_PORT'] || '8080';
  if (!/^\d{1,5}$/.test(port) || Number(port) > 65_535) faults.push('GATEWAY_PORT must be a port, 0 to 65535');
  const url = (name: string, ...protocols: string[]): string | undefined => {
    const value = environment[name] || undefined;
    // The value may hold a password, so it is not repeated.
    if (value !== undefined && !protocols.includes(URL.parse(value)?.protocol ?? '')) {
      faults.push(`${name} must be a URL that begins with ${protocols.join('// or ')}//`);
    }
    return value;
  };
  const settings = {
    dataFolder: environment['DATA_DIR'] ? resolve(environment['DATA_DIR']) : join(repository, '.data'),
    gatewayPort: Number(port),
    databaseUrl: url('DATABASE_URL', 'postgres:', 'postgresql:'),
    databaseDirectUrl: url('DATABASE_DIRECT_URL', 'postgres:', 'postgresql:'),
    redisUrl: url('REDIS_URL', 'redis:', 'rediss:'),
  };
  if (settings.databaseDirectUrl !== undefined && settings.databaseUrl === undefined) {
    faults.push('DATABASE_DIRECT_URL needs DATABASE_URL');
  }
  if (faults.length > 0) throw new Error(faults.join('; '));
  return settings;
}
