package scripted

// Step is one answer of the model: with Command it calls the shell, with Tool another
// tool, with neither it ends the turn.
type Step struct {
	Text    string
	Command string
	// Tool is the end of the name of a tool, such as "ask_person" for one of an MCP server,
	// which programs name after the server too. Where none is offered, the text says so
	// and the turn ends.
	Tool      string
	Arguments map[string]any
	Usage     Usage
	// Refuse comes before the answer.
	Refuse Refuse
}

// Refuse is an error instead of an answer, for the first Times calls that would get it.
type Refuse struct {
	Status     int // of HTTP, such as 429
	Times      int
	RetryAfter int // seconds that the header says; 0 for none
}

// Usage is what an answer used. Each token is in one number only; those of reasoning are
// part of the output.
type Usage struct{ Input, CacheRead, CacheWrite, CacheWrite1h, Output, Reasoning int }

// Greeting is the script of the recordings: it writes a file, reads it back and says so.
// All numbers differ, so that no two meters can be taken for each other.
var Greeting = []Step{
	{Text: "I write the file.", Command: "echo hello > greeting.txt",
		Usage: Usage{Input: 1201, CacheWrite: 907, CacheWrite1h: 311, Output: 57, Reasoning: 13}},
	{Text: "I read it back.", Command: "cat greeting.txt",
		Usage: Usage{Input: 41, CacheRead: 2113, CacheWrite: 151, Output: 91, Reasoning: 17}},
	{Text: "The file says hello.", Usage: Usage{Input: 31, CacheRead: 2251, Output: 23, Reasoning: 5}},
}

// aside is the answer to a call without tools.
var aside = Step{Text: "Greeting", Usage: Usage{Input: 73, Output: 7}}
