import type { SyntaxNode } from '@lezer/common';
import { parser } from '@prometheus-io/lezer-promql';

export interface Matcher {
  label: string;
  /** `=`, `!=`, `=~` or `!~`. */
  operator: string;
  value: string;
}

/** A metric that an expression reads. */
export interface Selector {
  metric: string;
  matchers: Matcher[];
  /** The operator of the innermost aggregation that contains it, such as `sum`; undefined without any. */
  aggregation: string | undefined;
}

export interface Expression {
  selectors: Selector[];
  /** The labels by which results are grouped or matched. */
  grouping: string[];
  /** The same, separately for each operation that groups or matches. */
  groupings: string[][];
}

/** The metrics and labels that a PromQL expression reads. Throws for invalid syntax and selectors without a metric. */
export function readExpression(text: string): Expression {
  const expression: Expression = { selectors: [], grouping: [], groupings: [] };
  parser.parse(text).iterate({
    enter(node) {
      if (node.type.isError) throw new Error(`${text}: not understood at ${node.from}`);
      if (node.name === 'VectorSelector') expression.selectors.push(readSelector(text, node.node));
      if (node.name === 'GroupingLabels') {
        const labels = node.node.getChildren('LabelName').map((label) => textOf(text, label));
        expression.grouping.push(...labels);
        expression.groupings.push(labels);
      }
    },
  });
  return expression;
}

function readSelector(text: string, node: SyntaxNode): Selector {
  const metric = textOf(text, node.getChild('Identifier'));
  if (metric === '') throw new Error(`${text}: a selector names no metric`);
  const matchers = node.getChild('LabelMatchers')?.getChildren('UnquotedLabelMatcher') ?? [];
  return {
    metric,
    matchers: matchers.map((matcher) => ({
      label: textOf(text, matcher.getChild('LabelName')),
      operator: textOf(text, matcher.getChild('MatchOp')),
      value: textOf(text, matcher.getChild('StringLiteral')).slice(1, -1),
    })),
    aggregation: aggregationOf(text, node),
  };
}

function aggregationOf(text: string, node: SyntaxNode): string | undefined {
  for (let parent = node.parent; parent; parent = parent.parent) {
    if (parent.name === 'AggregateExpr') return textOf(text, parent.getChild('AggregateOp'));
  }
  return undefined;
}

const textOf = (text: string, node: SyntaxNode | null) => (node ? text.slice(node.from, node.to) : '');

/** True if a matcher matches a value, with anchored regular expressions as in Prometheus. */
export function isMatch({ operator, value }: Matcher, candidate: string): boolean {
  const matches = operator.endsWith('~') ? new RegExp(`^(?:${value})$`).test(candidate) : candidate === value;
  return operator.startsWith('!') ? !matches : matches;
}
