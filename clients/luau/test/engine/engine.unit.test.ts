import { expect, onTestFinished, test } from 'vitest';
import { createEngine, type Engine, type EngineOptions } from './engine.ts';

async function engineOf(options: EngineOptions = {}): Promise<Engine> {
  const engine = await createEngine(options);
  onTestFinished(async () => {
    await engine.crash();
    expect(engine.errors).toEqual([]);
  });
  return engine;
}

test('a script runs typed Luau and returns a value', async () => {
  const engine = await engineOf();
  const source = `--!strict
    type Point = { x: number, y: number }
    local point: Point = { x = 1, y = 2 }
    print("point", point.x, nil)
    return { sum = point.x + point.y, list = { 1, 2 }, caught = { pcall(error, "no") } }`;
  expect(await engine.run(source)).toEqual({ sum: 3, list: [1, 2], caught: [false, 'no'] });
  expect(engine.output).toEqual([{ level: 'print', text: 'point 1 nil' }]);
});
