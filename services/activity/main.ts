import { runService } from '#kit/service.ts';
import { activityService } from './service.ts';

await runService(activityService);
