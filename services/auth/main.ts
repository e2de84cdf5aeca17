import { runService } from '#kit/service/service.ts';
import { authService } from './service.ts';

await runService(authService);
