import { runService } from '#kit/service.ts';
import { moderationService } from './service.ts';

await runService(moderationService);
