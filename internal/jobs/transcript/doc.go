// Package transcript keeps what agents did in their attempts, step by step: what they said, the tools that
// they used with what came of it, their edits, and what it cost. The steps of an attempt are numbered from 1
// without a gap. They lie in chunks, compressed; an attempt has a row for each chunk and none for a step.
//
// A chunk is written once. Each call adds one with its steps, and takes the place of those before it that are
// no larger, as long as the sum is at most MaxChunk: so the chunks before it are each larger than all behind
// them together, their number grows with the logarithm of a transcript's size, and a step is compressed again
// about as often.
package transcript
