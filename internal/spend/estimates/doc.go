// Package estimates says what a job is expected to cost, and which size of model it is
// worth.
//
// The history is a narrow table of finished jobs, to which the coordinator adds them a
// few minutes after their end. An estimate looks at the newest of four groups, each
// within the one before: all jobs of the workspace, those of the same kind, of the same
// complexity too, and in the same repo too. The median of each group is drawn towards
// that of the wider one, the more so the fewer jobs it has, and so is the distance of
// its 90th percentile. The widest is drawn towards the formula of document 001, which
// stands alone where nothing has finished yet.
//
// The tier follows from the job alone, so that a claim returns it without a look at any
// table.
package estimates
