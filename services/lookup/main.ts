import { runService } from '#kit/service/service.ts';
import { lookupService } from './service.ts';

await runService(lookupService);
