// Package preempt gives urgent jobs the seats of running ones that are less urgent, where a workspace
// wants that (preempt_gap), and only from a checkpoint.
//
// A loop of the coordinator looks for ready jobs that no free seat can run. For each it asks the agent
// of one running job, the victim, to save a checkpoint and give the job back. An agent that does so ends
// its attempt without blame, and both jobs stand in the queue: the urgent one is before the victim there,
// as it is more urgent.
//
// A request is a row of preemption:
//
//	asked -> given       the agent gave the job back
//	asked -> expired     it did not for StandsSeconds; the victim goes on
//	asked -> withdrawn   the seat is not needed any more; the victim goes on
//	asked -> kept        a person, a budget or a stop has directed otherwise
//	asked -> ended       the lease of the victim ended in another way
//
// Several processes may decide at once: the requests of a workspace are decided about under an advisory
// lock, and written as far as the jobs still are as they were looked at.
package preempt
