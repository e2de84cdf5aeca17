import { runService } from '#kit/service.ts';
import { membersService } from './service.ts';

await runService(membersService);
