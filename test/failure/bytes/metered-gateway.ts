// A gateway that tells its parent its address once it is ready, and the CPU of its main thread whenever it is asked.

import { gatewayService } from '#gateway/service.ts';
import { startService } from '#kit/service/service.ts';
import { createLog } from '#kit/telemetry/log.ts';

const log = await createLog({ service: 'gateway', level: 'silent' });
const gateway = await startService(gatewayService, process.env, { log });
process.on('message', () => {
  const { user, system } = process.threadCpuUsage();
  process.send?.(user + system);
});
process.once('disconnect', () => void gateway.stop().then(() => process.exit()));
process.send?.(gateway.addresses.http);
