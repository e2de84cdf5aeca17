// A gateway that reports its address to its parent once it is ready, and the CPU time of its main thread on request.

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
