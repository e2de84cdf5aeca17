import { runService } from '#kit/service.ts';
import { bindingsService } from './service.ts';

await runService(bindingsService);
