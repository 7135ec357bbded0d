package scripted

import (
	"bytes"
	"fmt"
)

// messages is Anthropic's format. As there, the usage at the beginning has one token of
// output.
func (m *model) messages(s *stream, in request) {
	isResult := func(i item) bool { return bytes.Contains(i.Content, []byte(`"tool_result"`)) }
	step, call, ok := m.step(s, in, in.Messages, isResult, "Bash")
	if !ok {
		return
	}
	u := step.Usage
	usage := object{"input_tokens": u.Input, "cache_read_input_tokens": u.CacheRead,
		"cache_creation_input_tokens": u.CacheWrite + u.CacheWrite1h,
		"cache_creation":              object{"ephemeral_5m_input_tokens": u.CacheWrite, "ephemeral_1h_input_tokens": u.CacheWrite1h},
		"output_tokens":               1, "service_tier": "standard"}
	s.send("message_start", object{"message": object{"id": s.id("msg"), "type": "message", "role": "assistant", "model": in.Model,
		"content": []any{}, "stop_reason": nil, "stop_sequence": nil, "usage": usage}})
	block := func(index int, start, delta object) {
		s.send("content_block_start", object{"index": index, "content_block": start})
		s.send("content_block_delta", object{"index": index, "delta": delta})
		s.send("content_block_stop", object{"index": index})
	}
	block(0, object{"type": "text", "text": ""}, object{"type": "text_delta", "text": step.Text})
	reason := "end_turn"
	if call != nil {
		reason = "tool_use"
		block(1, object{"type": "tool_use", "id": s.id("toolu"), "name": call.name, "input": object{}},
			object{"type": "input_json_delta", "partial_json": raw(call.arguments)})
	}
	s.send("message_delta", object{"delta": object{"stop_reason": reason, "stop_sequence": nil}, "usage": object{"input_tokens": u.Input,
		"cache_read_input_tokens": u.CacheRead, "cache_creation_input_tokens": u.CacheWrite + u.CacheWrite1h, "output_tokens": u.Output}})
	s.send("message_stop", object{})
}

// all returns the tokens of the input with those of the cache, as OpenAI counts them.
func (u Usage) all() int { return u.Input + u.CacheRead + u.CacheWrite + u.CacheWrite1h }

// responses is OpenAI's newer format.
func (m *model) responses(s *stream, in request) {
	isResult := func(i item) bool { return i.Type == "function_call_output" }
	step, call, ok := m.step(s, in, in.Input, isResult, "exec_command", "shell_command", "shell")
	if !ok {
		return
	}
	s.send("response.created", object{"response": object{"id": s.id("resp")}})
	s.send("response.output_item.done", object{"output_index": 0, "item": object{"type": "message", "id": s.id("item"), "role": "assistant",
		"content": []any{object{"type": "output_text", "text": step.Text}}}})
	if call != nil {
		item := object{"type": "function_call", "id": s.id("fc"), "call_id": s.id("call"),
			"name": call.name, "arguments": raw(call.arguments)}
		if call.namespace != "" {
			item["namespace"] = call.namespace
		}
		s.send("response.output_item.done", object{"output_index": 1, "item": item})
	}
	u := step.Usage
	s.send("response.completed", object{"response": object{"id": s.id("resp"), "usage": object{
		"input_tokens": u.all(), "input_tokens_details": object{"cached_tokens": u.CacheRead},
		"output_tokens": u.Output, "output_tokens_details": object{"reasoning_tokens": u.Reasoning}, "total_tokens": u.all() + u.Output}}})
}

// completions is OpenAI's older format, which others speak too.
func (m *model) completions(s *stream, in request) {
	step, call, ok := m.step(s, in, in.Messages, func(i item) bool { return i.Role == "tool" }, "bash")
	if !ok {
		return
	}
	chunk := func(choices []any, more object) {
		data := object{"id": s.id("chatcmpl"), "object": "chat.completion.chunk", "created": 1, "model": in.Model, "choices": choices}
		for field, value := range more {
			data[field] = value
		}
		s.send("", data)
	}
	choice := func(delta object, finish any) {
		chunk([]any{object{"index": 0, "delta": delta, "finish_reason": finish}}, nil)
	}
	choice(object{"role": "assistant", "content": step.Text}, nil)
	finish := "stop"
	if call != nil {
		finish = "tool_calls"
		choice(object{"tool_calls": []any{object{"index": 0, "id": s.id("call"), "type": "function",
			"function": object{"name": call.name, "arguments": raw(call.arguments)}}}}, nil)
	}
	choice(object{}, finish)
	u := step.Usage
	chunk([]any{}, object{"usage": object{"prompt_tokens": u.all(), "completion_tokens": u.Output, "total_tokens": u.all() + u.Output,
		"prompt_tokens_details":     object{"cached_tokens": u.CacheRead},
		"completion_tokens_details": object{"reasoning_tokens": u.Reasoning}}})
	fmt.Fprint(s.w, "data: [DONE]\n\n")
}
