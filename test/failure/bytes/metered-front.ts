import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { SecretRing } from '#kit/security/keyring.ts';
import { TEST_SECRETS, testKeys } from '../../system/keys.ts';
import { inheritedEnvironment } from '../../system/processes.ts';
import { SERVICES, startAuth } from './front.ts';
import { Recorder } from './recorder.ts';

const PATIENCE_MS = 30_000;

export interface MeteredFront {
  /** `host:port` of the gateway. */
  address: string;
  /** CPU time of the gateway's main thread so far, in microseconds. */
  cpu(): Promise<number>;
  stop(): Promise<void>;
}

/** A gateway in a separate process, so that only its CPU is counted; it trusts every peer as a proxy. */
export async function startMeteredFront(): Promise<MeteredFront> {
  const recorder = new Recorder();
  const upstream = await recorder.start();
  const auth = await startAuth(new SecretRing(TEST_SECRETS));
  const env = {
    ...inheritedEnvironment(),
    LISTEN_HOST: '127.0.0.1',
    GATEWAY_PORT: '0',
    INTERNAL_KEYS: testKeys(),
    AUTH_GRPC_ADDRESS: auth.address,
    TRUSTED_PROXIES: '127.0.0.0/8,fd00::/8',
    ...Object.fromEntries(SERVICES.map((name) => [`${name}_HTTP_URL`, upstream])),
  };
  const child = fork(join(import.meta.dirname, 'metered-gateway.ts'), { env, execArgv: [] });
  const reported = async (): Promise<unknown> => {
    const [message] = (await once(child, 'message', { signal: AbortSignal.timeout(PATIENCE_MS) })) as [unknown];
    return message;
  };
  const address = String(await reported());
  const cpu = async () => {
    const used = reported();
    child.send('cpu');
    return Number(await used);
  };
  const stop = async () => {
    const ended = once(child, 'exit');
    child.disconnect();
    await ended;
    await auth.stop();
    await recorder.stop();
  };
  return { address, cpu, stop };
}
