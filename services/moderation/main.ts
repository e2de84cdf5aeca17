import { runService } from '#kit/service/service.ts';
import { moderationService } from './service.ts';

await runService(moderationService);
