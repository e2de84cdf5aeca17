import { runService } from '#kit/service.ts';
import { gatewayService } from './service.ts';

await runService(gatewayService);
