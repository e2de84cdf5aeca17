import type { EventRecorder } from '#kit/events/recorder.ts';
import type { Transaction } from '#kit/postgres/pool.ts';
import type { Binding } from './domain/binding.ts';
import type { BindingNames } from './domain/platforms.ts';
import { bindingView } from './http/views.ts';

/** Records the events of the bindings service, each in the transaction of its change. */
export class BindingEvents {
  readonly #recorder: EventRecorder;

  constructor(recorder: EventRecorder) {
    this.#recorder = recorder;
  }

  added(transaction: Transaction, guildId: string, binding: Binding, names: BindingNames): Promise<void> {
    const data = bindingView(binding, names);
    return this.#recorder.record(transaction, [{ guildId, type: 'binding.created', data }]);
  }

  updated(
    transaction: Transaction,
    guildId: string,
    changed: { binding: Binding; before: Binding },
    names: BindingNames,
  ): Promise<void> {
    const [data, before] = [bindingView(changed.binding, names), bindingView(changed.before, names)];
    return this.#recorder.record(transaction, [{ guildId, type: 'binding.updated', data, before }]);
  }

  removed(transaction: Transaction, guildId: string, binding: Binding, names: BindingNames): Promise<void> {
    const data = bindingView(binding, names);
    return this.#recorder.record(transaction, [{ guildId, type: 'binding.removed', data }]);
  }
}
