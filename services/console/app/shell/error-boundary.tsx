import { Component, type ComponentChildren } from 'preact';
import { Button } from '../components/button.tsx';
import { EmptyState } from '../components/states.tsx';
import { shellTexts as texts } from '../texts.ts';

/** Shows a way out instead of an empty window if a component fails. */
export class ErrorBoundary extends Component<{ children: ComponentChildren }, { hasFailed: boolean }> {
  override state = { hasFailed: false };

  static override getDerivedStateFromError() {
    return { hasFailed: true };
  }

  override componentDidCatch(error: unknown) {
    console.error(error);
  }

  override render() {
    if (!this.state.hasFailed) return this.props.children;
    return (
      <EmptyState
        icon="warning"
        title={texts.crashTitle}
        action={
          <Button kind="primary" onClick={() => location.reload()}>
            {texts.reload}
          </Button>
        }
      >
        {texts.crash}
      </EmptyState>
    );
  }
}
