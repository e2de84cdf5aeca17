import { runService } from '#kit/service.ts';
import { authService } from './service.ts';

await runService(authService);
