import { runService } from '#kit/service/service.ts';
import { membersService } from './service.ts';

await runService(membersService);
