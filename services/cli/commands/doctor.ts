import { GuildDoctorServiceService } from '#proto/gen/guild/auth/v1/doctor.ts';
import { type Command, CommandFailure, type Output } from '../command.ts';
import { table } from '../text.ts';

const doctor: Command = {
  name: 'doctor',
  usage: '--guild ID',
  notes: ['Results may be 30 seconds old. The exit status is 1 if a check failed.'],
  options: { guild: { type: 'string' } },
  run: async (input, connections) => {
    const guildId = input.requiredText('guild');
    input.check();
    const { checks } = await connections.admin(GuildDoctorServiceService, 'auth').checkGuild({ guildId });
    const cells = checks.map(({ name, isOk, message, fix }) => [isOk ? 'ok' : 'FAILED', name, message, fix]);
    const output: Output = {
      document: {
        checks: checks.map(({ name, isOk, message, fix }) => ({ name, ok: isOk, message, fix: fix || null })),
      },
      text: table(['', 'CHECK', 'RESULT', 'WHAT TO DO'], cells),
    };
    if (checks.some(({ isOk }) => !isOk)) throw new CommandFailure(output);
    return output;
  },
};

export const guildDoctorCommands: readonly Command[] = [doctor];
