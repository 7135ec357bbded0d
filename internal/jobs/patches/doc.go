// Package patches reads patches as git prints them, and follows lines from one into the next: from what an agent
// handed in to what it hands in later, over edits, renames and a base that has moved. A patch is an agent's text: what
// cannot be read is said, and nothing of it is obeyed.
package patches
