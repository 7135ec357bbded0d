package screens

import "github.com/fleetboard/fleetboard/internal/jobs"

// Move is what taking a card to a column does to its job.
type Move struct {
	To   Column
	Verb jobs.Trigger
}

// moves are the triggers that need nothing but the will, by status. With findObstacle this
// decides for the menus, the drag, the keys and the plain forms.
var moves = map[jobs.Status]map[Column]jobs.Trigger{
	jobs.Waiting:   {Failed: jobs.ByCancel},
	jobs.Blocked:   {Ready: jobs.ByUnblock, Failed: jobs.ByCancel},
	jobs.Paused:    {Ready: jobs.ByResume, Failed: jobs.ByCancel},
	jobs.Ready:     {Waiting: jobs.ByPause, Failed: jobs.ByCancel},
	jobs.Assigned:  {Waiting: jobs.ByPause, Ready: jobs.ByRelease, Failed: jobs.ByCancel},
	jobs.Running:   {Waiting: jobs.ByPause, Ready: jobs.ByRelease, Failed: jobs.ByCancel},
	jobs.InReview:  {Failed: jobs.ByCancel},
	jobs.Approved:  {Done: jobs.ByMerge, Failed: jobs.ByCancel},
	jobs.Completed: {Ready: jobs.ByRetry},
	jobs.Failed:    {Ready: jobs.ByRetry},
	jobs.Aborted:   {Ready: jobs.ByRetry},
}

// FindMove returns the trigger that takes a job's card to a column, or why nothing does and
// what would bring it there.
func FindMove(j jobs.Job, to Column) (by jobs.Trigger, whyNot string) {
	by, ok := moves[j.Status][to]
	if !ok {
		return "", findObstacle(j.Status, to)
	}
	// Whoever moves a card that waits for an answer drops the question.
	if by == jobs.ByUnblock && j.Asks() {
		return "", "It waits for an answer. It is ready again as soon as somebody gives one."
	}
	if !j.Can(by) {
		return "", "What comes of it is for the system to decide."
	}
	return by, ""
}

// ListMoves returns the moves of a job, from left to right.
func ListMoves(j jobs.Job) []Move {
	var list []Move
	for _, to := range Columns {
		if by, whyNot := FindMove(j, to); whyNot == "" {
			list = append(list, Move{to, by})
		}
	}
	return list
}

// findObstacle says why a job of a status does not go to a column by hand.
func findObstacle(status jobs.Status, to Column) string {
	switch {
	case to == StatusColumn(status):
		return "It is there already."
	case to == Running:
		return "A job runs when an agent claims it; nobody can start one by hand."
	case to == Review:
		return "A job comes to Review when an agent hands it in."
	case to == Done && status == jobs.InReview:
		return "It is still to be approved."
	case to == Done:
		return "A job is done when its work was handed in and accepted."
	case to == Ready && status == jobs.InReview:
		return "Sending it back needs a reason."
	case to == Ready && status == jobs.Waiting:
		return "It becomes ready by itself when what it waits for is over."
	case to == Waiting:
		return "Only a job that is ready or runs can be paused."
	case to == Failed:
		return "A job that is over cannot be cancelled."
	default:
		return "It cannot go there from where it is."
	}
}
