import { runService } from '#kit/service/service.ts';
import { activityService } from './service.ts';

await runService(activityService);
