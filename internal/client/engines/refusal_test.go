package engines

import "testing"

// What providers and programs say when they refuse a call, as it was seen.
func TestWhyACallWasRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		status  int
		message string
		kind    string // "" is not known
	}{
		{401, `API Error: 401 {"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`, "auth"},
		{403, `Your organization has been disabled`, "auth"},
		{0, "Invalid API key · Please run /login", "auth"},
		{0, "OAuth token has expired. Please obtain a new token", "auth"},
		{0, "unexpected status 401 Unauthorized: Missing bearer or basic authentication in header", "auth"},
		{0, "Incorrect API key provided: sk-***. You can find your API key at the provider's page. 401 Unauthorized", "auth"},
		{0, "Missing environment variable: `OPENAI_API_KEY`.", "auth"},
		{400, "Your credit balance is too low to access the API. Please go to Plans & Billing", "billing"},
		{429, "You exceeded your current quota, please check your plan and billing details.", "billing"},
		{402, "Insufficient credits", "billing"},
		{402, "", "billing"},
		{400, "prompt is too long: 210000 tokens > 200000 maximum", "context_overflow"},
		{400, "This model's maximum context length is 128000 tokens", "context_overflow"},
		{413, "Request too large", "context_overflow"},
		{0, "Your input exceeds the context window of this model.", "context_overflow"},
		{0, "unable to respond to this request, which appears to violate our Usage Policy", "refused"},
		{400, "The response was filtered due to the content_filter", "refused"},
		{404, "model: no such model", ""},
		{500, "Internal server error", ""},
		{529, "Overloaded", ""},
		{0, "The tests of the billing page fail: 2 of 214", ""},
		{0, "It gives up after 403 files", ""},
	} {
		got, known := refusedBy(c.status, c.message)
		if got.kind != c.kind || known != (c.kind != "") {
			t.Errorf("%d %q is %q; want %q", c.status, c.message, got.kind, c.kind)
		}
	}
}
