import { runService } from '#kit/service/service.ts';
import { gatewayService } from './service.ts';

await runService(gatewayService);
