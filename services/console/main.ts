import { runService } from '#kit/service/service.ts';
import { consoleService } from './service.ts';

await runService(consoleService);
