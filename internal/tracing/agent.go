package tracing

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
)

// AgentSpan is a run of an agent program, with the tokens that it used.
type AgentSpan struct {
	*Span

	input, output int64
}

// Agent begins a run of an agent program with a model, "" where the program chooses it.
func Agent(ctx context.Context, program, model string) (context.Context, *AgentSpan) {
	attributes := []attribute.KeyValue{semconv.GenAIOperationNameInvokeAgent, semconv.GenAIAgentName(program)}
	if model != "" {
		attributes = append(attributes, semconv.GenAIRequestModel(model))
	}
	ctx, span := Begin(ctx, "invoke_agent "+program, attributes...)
	return ctx, &AgentSpan{Span: span}
}

// Use adds tokens of a model, "" where it is not known, that the run has used.
func (s *AgentSpan) Use(provider, model string, input, output int64) {
	s.input, s.output = s.input+input, s.output+output
	attributes := []attribute.KeyValue{semconv.GenAIUsageInputTokensKey.Int64(s.input), semconv.GenAIUsageOutputTokensKey.Int64(s.output)}
	if provider != "" {
		attributes = append(attributes, semconv.GenAIProviderNameKey.String(provider))
	}
	if model != "" {
		attributes = append(attributes, semconv.GenAIResponseModel(model))
	}
	s.Set(attributes...)
}
