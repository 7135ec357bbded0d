// Package transcript reads what the programs of coding agents print while they work, and
// makes usage entries of it, as POST /fleet/usage takes them. It is for clients: it knows
// no database.
//
// An entry is reported again and again under the same id while it grows, and the server raises
// it meter by meter. So lines may be read twice, in any order, and end in the middle: the
// totals are those that the program itself reports, as far as it reported them.
//
//   - Claude Code (claude -p --output-format stream-json --verbose) prints a message once for
//     each block of its content, each time with the usage at its beginning. While it runs, an
//     entry for each model of the run grows by the largest numbers of each message. Its last
//     line reports the run's totals by model, also of what subagents used without a line of
//     their own; End takes these.
//   - Codex (codex exec --json) prints usage where a turn ends, and that of the whole thread,
//     also where the thread is resumed by another run: one entry for each thread. Its input
//     holds the tokens of the cache, which are taken out. A run that is killed in its first
//     turn has reported nothing.
//   - OpenCode (opencode run --format json) prints the usage of each call of a model: one
//     entry for each. Its output does not hold the tokens of reasoning, which are added.
//
// The recordings in testdata are what the three programs printed, against a scripted model.
package transcript
