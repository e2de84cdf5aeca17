import { runService } from '#kit/service.ts';
import { lookupService } from './service.ts';

await runService(lookupService);
