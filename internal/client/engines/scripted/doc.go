// Package scripted is a model that says what a script says, for running the real programs
// of coding agents without a provider: Claude Code, Codex and OpenCode do their work
// against it, in a real repository, and print what they print with a real one.
//
// It speaks the three wire formats that they use, as far as they need them: Anthropic's
// Messages, OpenAI's Responses and chat completions, as server-sent events. Each call gets
// the step of the script that follows the number of results of tools since the person
// last said something, so that a resumed session begins the script anew, or the next one of Turns. A step with a
// command calls the shell tool that the program offers, and one with a tool calls that.
// Calls that offer no shell, such as those that name a session, get a short text. A step
// may be refused some times first.
//
// The recordings of package transcript were made with it: tools/record-transcripts.sh.
package scripted
