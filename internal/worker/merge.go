package worker

import "context"

// isMerge reports whether the job is to merge the work of another one.
func (a *attempt) isMerge() bool { return a.job.Kind == "merge" && inputOf(a.job)[mergeKey] != nil }

func (a *attempt) merge(context.Context) ending {
	return failure("other", "Merging is not built yet.", false)
}
