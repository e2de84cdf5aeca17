import { runService } from '#kit/service/service.ts';
import { bindingsService } from './service.ts';

await runService(bindingsService);
