interface Waiting<Answer> {
  resolve: (answer: Answer) => void;
  reject: (error: unknown) => void;
}

interface Batch<Question, Answer> {
  questions: Question[];
  waiting: Waiting<Answer>[];
}

/** Asks together what is asked in one turn of the event loop: a call costs more than a question. */
export class Batches<Question, Answer> {
  readonly #ask: (group: string, questions: readonly Question[]) => Promise<Answer[]>;
  readonly #most: number;
  /** Made anew at each turn. */
  #open: Map<string, Batch<Question, Answer>> | undefined;

  /** `ask` answers each question of a group, in their order; `most`: of one call. */
  constructor(ask: (group: string, questions: readonly Question[]) => Promise<Answer[]>, most: number) {
    this.#ask = ask;
    this.#most = most;
  }

  /** The answer to a question, which is asked together with others of its group alone. */
  ask(group: string, question: Question): Promise<Answer> {
    const open = this.#open ?? this.#begin();
    let batch = open.get(group);
    if (!batch || batch.questions.length >= this.#most) {
      if (batch) void this.#send(group, batch);
      batch = { questions: [], waiting: [] };
      open.set(group, batch);
    }
    const { questions, waiting } = batch;
    questions.push(question);
    return new Promise((resolve, reject) => void waiting.push({ resolve, reject }));
  }

  #begin(): Map<string, Batch<Question, Answer>> {
    const open = new Map<string, Batch<Question, Answer>>();
    this.#open = open;
    setImmediate(() => {
      this.#open = undefined;
      for (const [group, batch] of open) void this.#send(group, batch);
    });
    return open;
  }

  async #send(group: string, { questions, waiting }: Batch<Question, Answer>): Promise<void> {
    try {
      const answers = await this.#ask(group, questions);
      for (const [index, { resolve }] of waiting.entries()) resolve(answers[index] as Answer);
    } catch (error) {
      for (const { reject } of waiting) reject(error);
    }
  }
}
