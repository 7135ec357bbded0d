// Package newcomer tests what somebody meets who has just cloned the repository: the lines of
// the README as they stand, the demo, and the fleet command on what a beginner types. All of
// it runs as processes of their own.
package newcomer
