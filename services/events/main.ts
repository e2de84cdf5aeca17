import { runService } from '#kit/service/service.ts';
import { eventsService } from './service.ts';

await runService(eventsService);
